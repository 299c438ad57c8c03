"""Declares the functions of det.h for checkpoints that consist of tensors."""

from ctypes import POINTER, Structure, c_char, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Tuple

UUID_SIZE = 37


class TensorArguments(Structure):
    """det_tensor"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("data", c_void_p),
        ("dtype", c_int32),
        ("dimensions", c_uint32),
        ("shape", POINTER(c_uint64)),
        ("begin", POINTER(c_uint64)),
        ("part_shape", POINTER(c_uint64)),
        ("copy_later", c_int32),
    ]


class SaveStarted(Structure):
    """det_save_started"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("uuid", c_char * UUID_SIZE),
        ("waited_us", c_int64),
        ("copied_us", c_int64),
    ]


class Outcome(Structure):
    """det_outcome"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("uuid", c_char * UUID_SIZE),
        ("steps_completed", c_uint64),
        ("status", c_int32),
        ("code", c_char_p),
        ("message", c_char_p),
    ]


class Loaded(Structure):
    """det_loaded"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("uuid", c_char * UUID_SIZE),
        ("steps_completed", c_uint64),
        ("passed_over", c_uint64),
        ("is_own", c_int32),
        ("is_from_memory", c_int32),
    ]


_HANDLE_OUT = POINTER(c_void_p)

# Calls that return a status; they may wait for other ranks or for a disk.
CALLS: Dict[str, Tuple[Any, ...]] = {
    "det_checkpoint_prepare": (c_void_p, c_void_p),
    "det_checkpoint_save": (c_void_p, c_uint64, c_char_p, c_void_p, POINTER(SaveStarted)),
    "det_checkpoint_save_before_preemption": (c_void_p, c_uint64, c_char_p, c_void_p, _HANDLE_OUT),
    "det_checkpoint_keep_in_memory": (c_void_p, c_uint64, c_char_p, c_void_p, POINTER(c_int32)),
    "det_checkpoint_fetch_kept": (c_void_p,),
    "det_checkpoint_wait_snapshot": (c_void_p,),
    "det_checkpoint_poll": (c_void_p, _HANDLE_OUT),
    "det_checkpoint_finish": (c_void_p, _HANDLE_OUT),
    "det_checkpoint_list": (c_void_p, _HANDLE_OUT),
    "det_checkpoint_load_from": (c_void_p, c_char_p, c_void_p, POINTER(Loaded)),
}

# Short calls that return a status.
SHORT_CALLS: Dict[str, Tuple[Any, ...]] = {
    "det_checkpoint_is_kept_in_memory": (c_int32, c_void_p, c_uint64, POINTER(c_int32)),
    "det_state_create": (c_int32, _HANDLE_OUT),
    "det_state_add": (c_int32, c_void_p, POINTER(TensorArguments)),
    "det_state_add_directory": (c_int32, c_void_p, c_char_p),
    "det_state_destroy": (None, c_void_p),
    "det_outcomes_count": (c_size_t, c_void_p),
    "det_outcomes_get": (c_int32, c_void_p, c_size_t, POINTER(Outcome)),
    "det_outcomes_destroy": (None, c_void_p),
}
