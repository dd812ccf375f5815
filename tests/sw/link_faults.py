"""What can happen to the bytes on a wire: each fault takes some and gives those that arrive."""
from hypothesis import strategies as st


def cut(length):
    return lambda data: data[:length]


def flip(bit):
    def fault(data):
        place = bit // 8 % max(1, len(data))
        return data[:place] + bytes([byte ^ 1 << bit % 8 for byte in data[place:place + 1]]) + (
            data[place + 1:])
    return fault


def drop(place):
    return lambda data: data[:place] + data[place + 1:]


def double(place):
    return lambda data: data[:place + 1] + data[place:]


def twice(data):
    return data + data


def whole(data):
    return data


FAULTS = st.one_of(
    st.builds(cut, st.integers(0, 40)), st.builds(flip, st.integers(0, 400)),
    st.builds(drop, st.integers(0, 40)), st.builds(double, st.integers(0, 40)),
    st.just(twice), st.just(whole),
    st.binary(max_size=40).map(lambda noise: lambda data: noise + data),
    st.binary(max_size=40).map(lambda noise: lambda data: data + noise))
