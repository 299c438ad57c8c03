"""Arrays of numbers as TensorBoard shows them: images and histograms. Needs numpy."""

from typing import Any, Tuple


def to_array(values: Any) -> Any:
    """A numpy array of a tensor of torch, an array, or a list."""
    import numpy

    detach = getattr(values, "detach", None)
    return numpy.asarray(values if detach is None else detach().cpu().numpy())


def to_pixels(values: Any, order: str) -> Any:
    """An array of bytes, height x width x channels, of one image or a grid of images.

    Args:
        values: numbers from 0 to 1, or bytes
        order: the dimensions, for example "CHW"; "N" counts images

    Raises:
        ValueError: values has another number of dimensions, or a number of channels besides 1, 3 and 4
    """
    import numpy

    array = to_array(values)
    order = order.upper()
    if array.ndim != len(order):
        raise ValueError(f"an image of the shape {array.shape} has not the dimensions {order}")
    if array.dtype != numpy.uint8:
        array = numpy.nan_to_num(array.astype(numpy.float64) * 255).clip(0, 255).astype(numpy.uint8)
    for missing in "CN":
        if missing not in order:
            array, order = array[None], missing + order
    images = array.transpose([order.index(name) for name in "NHWC"])
    if images.shape[3] not in (1, 3, 4):
        raise ValueError(f"an image has 1, 3 or 4 channels, not {images.shape[3]}")
    return _grid(images)


def _grid(images: Any) -> Any:
    """The images side by side, eight in a row, as torch's SummaryWriter shows them."""
    import numpy

    count, height, width, channels = images.shape
    columns = min(count, 8)
    rows = (count + columns - 1) // columns
    grid = numpy.zeros((rows * height, columns * width, channels), numpy.uint8)
    for index, each in enumerate(images):
        top, left = index // columns * height, index % columns * width
        grid[top : top + height, left : left + width] = each
    return grid


def to_buckets(values: Any, bins: Any) -> Tuple[Any, Any, Any]:
    """The finite values as doubles, the upper limit of each bucket and how many values it has. bins: as for
    numpy.histogram; "tensorflow": 30 buckets. Without a finite value, the array is empty."""
    import numpy

    array = to_array(values).astype(numpy.float64).reshape(-1)
    array = array[numpy.isfinite(array)]
    if array.size == 0:
        return array, [], []
    counts, edges = numpy.histogram(array, bins=30 if bins == "tensorflow" else bins)
    # The first bucket ends where the others begin.
    return array, edges, numpy.concatenate([[0], counts])
