"""Tensors to the bytes of memory words, and back. All padding is zero."""
import numpy as np
from numpy.typing import ArrayLike, NDArray

from systolith.hw.config import Config
from systolith.sw.reference.addressing import TABLE_ELEMENTS
from systolith.sw.reference.numerics import Ints


def ceil_div(value: int, granule: int) -> int:
    """How many granules cover a value."""
    return -(-value // granule)


def table_words(config: Config) -> int:
    """Words of vector memory of one function table."""
    return ceil_div(TABLE_ELEMENTS, config.lanes)


def pad(x: ArrayLike, *shape: int) -> Ints:
    """``x`` in the corner of zeros of that shape."""
    x = np.asarray(x, dtype=np.int64)
    result = np.zeros(shape, dtype=np.int64)
    result[tuple(slice(size) for size in x.shape)] = x
    return result


def pad_columns(x: ArrayLike, head_dim: int, size: int) -> Ints:
    """Each head's ``head_dim`` columns padded to ``size``: (..., heads * size)."""
    x = np.asarray(x)
    count = x.shape[-1] // head_dim
    heads = x.reshape(*x.shape[:-1], count, head_dim)               # (..., heads, head_dim)
    return pad(heads, *heads.shape[:-1], size).reshape(*x.shape[:-1], count * size)


def pad_rows(weight: ArrayLike, head_dim: int, size: int) -> Ints:
    """Each head's ``head_dim`` rows padded to ``size``: (heads * size, columns)."""
    return pad_columns(np.asarray(weight).T, head_dim, size).T


def activation_words(x: ArrayLike, config: Config) -> bytes:
    """INT8 (T, n) to activation words: word ``m * tiles + tile``, byte ``n % rows``."""
    x = np.asarray(x)
    return pad(x, len(x), ceil_div(x.shape[1], config.rows) * config.rows).astype(
        np.int8).tobytes()


def weight_tiles(weight: ArrayLike, config: Config) -> bytes:
    """INT8 (in, out) to weight words: word ``output tile * input tiles + input tile``.

    Byte ``row * cols + column`` of a word is the weight of that cell.
    """
    weight = np.asarray(weight)
    kt, nt = ceil_div(weight.shape[0], config.rows), ceil_div(weight.shape[1], config.cols)
    padded = pad(weight, kt * config.rows, nt * config.cols)
    tiles = padded.reshape(kt, config.rows, nt, config.cols).transpose(2, 0, 1, 3)
    return tiles.astype(np.int8).tobytes()                      # (nt, kt, rows, cols)


def vector_words(x: ArrayLike, config: Config, beats: int | None = None) -> bytes:
    """INT16 (T, n) to vector words: word ``m * beats + n // lanes``."""
    x = np.asarray(x)
    beats = ceil_div(x.shape[1], config.lanes) if beats is None else beats
    return pad(x, len(x), beats * config.lanes).astype("<i2").tobytes()


def from_vector_words(data: bytes, config: Config, length: int, width: int) -> NDArray[np.int16]:
    """The inverse of :func:`vector_words`: INT16 (length, width)."""
    beats = ceil_div(width, config.lanes)
    words = np.frombuffer(data, dtype="<i2").reshape(length, beats * config.lanes)
    return words[:, :width].astype(np.int16)


def from_activation_words(data: bytes, config: Config, length: int, width: int) -> NDArray[np.int8]:
    """The inverse of :func:`activation_words`: INT8 (length, width)."""
    tiles = ceil_div(width, config.rows)
    words = np.frombuffer(data, dtype=np.int8).reshape(length, tiles * config.rows)
    return words[:, :width]


def column_constants(words: ArrayLike, bias: ArrayLike | None, config: Config,
                     beats: int) -> bytes:
    """Scale words (n,) and INT32 biases (n,) to column constant words: bias, then scale word."""
    constants = np.zeros((beats * config.lanes, 2), dtype=np.int64)
    words = np.asarray(words)
    constants[:len(words), 1] = words
    if bias is not None:
        constants[:len(words), 0] = np.asarray(bias) & 0xFFFFFFFF
    return constants.astype("<u4").tobytes()
