"""The types of elements: the only list of them, from which other modules make what they look up."""

from typing import Dict, NamedTuple


class ElementType(NamedTuple):
    """One type.

    Attributes:
        number: its det_dtype
        size_bytes: of an element
        name: in torch, and in numpy if that has it
        numpy: kind and size, as at the end of numpy's `dtype.str`; "" if numpy lacks it
    """

    number: int
    size_bytes: int
    name: str
    numpy: str


# By the name in safetensors files.
ELEMENT_TYPES: Dict[str, ElementType] = {
    "BOOL": ElementType(0, 1, "bool", "b1"),
    "U8": ElementType(1, 1, "uint8", "u1"),
    "I8": ElementType(2, 1, "int8", "i1"),
    "F8_E4M3": ElementType(3, 1, "float8_e4m3fn", ""),
    "F8_E5M2": ElementType(4, 1, "float8_e5m2", ""),
    "U16": ElementType(5, 2, "uint16", "u2"),
    "I16": ElementType(6, 2, "int16", "i2"),
    "F16": ElementType(7, 2, "float16", "f2"),
    "BF16": ElementType(8, 2, "bfloat16", ""),
    "U32": ElementType(9, 4, "uint32", "u4"),
    "I32": ElementType(10, 4, "int32", "i4"),
    "F32": ElementType(11, 4, "float32", "f4"),
    "U64": ElementType(12, 8, "uint64", "u8"),
    "I64": ElementType(13, 8, "int64", "i8"),
    "F64": ElementType(14, 8, "float64", "f8"),
}

# The types that collectives accept, by their names in torch.
COLLECTIVE_TYPES: Dict[str, ElementType] = {
    ELEMENT_TYPES[name].name: ELEMENT_TYPES[name] for name in ("U8", "F16", "BF16", "I32", "F32", "I64", "F64")
}
