"""Array types of the kernels, and the checks that all of them make of what they are given."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class ShapeMismatchError(ValueError):
    """Two arrays whose axes should agree do not."""


def expect_shape(name: str, array: FloatArray | IntArray | BoolArray, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape.

    Raises
    ------
    ShapeMismatchError
        Naming the array, its shape and the one expected.
    """
    if array.shape != shape:
        raise ShapeMismatchError(f"{name} has shape {array.shape}, expected {shape}")


def amounts(name: str, values: ArrayLike, dimensions: int) -> FloatArray:
    """Read an argument as float64 and refuse what is no amount.

    Raises
    ------
    ShapeMismatchError
        If it has another number of dimensions.
    ValueError
        If an entry is negative or not a number.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise ShapeMismatchError(f"{name} has {array.ndim} dimensions, expected {dimensions}")
    if np.isnan(array).any() or (array < 0).any():
        raise ValueError(f"{name} holds a negative amount or NaN")
    return array


def ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """`part / whole`, and 0 where `whole` is 0."""
    return np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole > 0)
