#!/usr/bin/env python3
"""Writes the .arrow files of made/: small Arrow streams with layouts the reader must find its way in.

  python make.py        needs pyarrow (made with 26.0.1) and numpy; no seed, nothing is random
"""
import decimal, os
import pyarrow as pa

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "made")


def write(name, table, **options):
    with pa.OSFile(os.path.join(HERE, name), "wb") as sink, pa.ipc.new_stream(sink, table.schema, **options) as w:
        w.write_table(table)


def column(values, item, kind=pa.list_):
    return pa.array(values, kind(item))


def b03():
    """int64 everywhere, an id that no double holds, an empty row, a row whose mask is null."""
    return pa.table({
        "id": pa.array([1, 2, 3, 2**53 + 1], pa.int64()),
        "input_ids": column([[1, 2, 3], [4, 5], [], [6]], pa.int64()),
        "loss_mask": column([[0, 1, 1], [0, 1], [], None], pa.int64()),
    })


def layouts():
    """A column of every layout before the wanted ones, so that their buffers must be counted right."""
    long = "a string longer than twelve bytes"
    n = 3
    union_types = pa.array([0, 1, 0], pa.int8())
    union_children = [pa.array([1, 2, 3], pa.int32()), pa.array(["x", "y", "z"])]
    return pa.table({
        "nothing": pa.nulls(n),
        "flag": pa.array([True, None, False]),
        "half": pa.array([1, 2, 3], pa.float32()).cast(pa.float16()),
        "money": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("2")], pa.decimal128(9, 2)),
        "when": pa.array([1, 2, None], pa.timestamp("us", tz="UTC")),
        "day": pa.array([1, 2, 3], pa.date32()),
        "time": pa.array([1, 2, 3], pa.time64("us")),
        "span": pa.array([1, 2, 3], pa.duration("s")),
        "interval": pa.array([(1, 2, 3), None, (4, 5, 6)], pa.month_day_nano_interval()),
        "four_bytes": pa.array([b"abcd", None, b"efgh"], pa.binary(4)),
        "text": pa.array(["a", None, long]),
        "bytes": pa.array([b"a", None, b"b"], pa.large_binary()),
        "text_view": pa.array([long, "short", None], pa.string_view()),
        "bytes_view": pa.array([b"short", long.encode(), long.encode()], pa.binary_view()),
        "struct": pa.array([{"a": [1], "b": "x"}, None, {"a": None, "b": long}],
                           pa.struct([("a", pa.list_(pa.int16())), ("b", pa.string_view())])),
        "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int8())),
        "triple": column([[1, 2, 3], None, [4, 5, 6]], pa.int32(), lambda item: pa.list_(item, 3)),
        "sparse": pa.UnionArray.from_sparse(union_types, union_children),
        "dense": pa.UnionArray.from_dense(union_types, pa.array([0, 0, 1], pa.int32()), union_children),
        "word": pa.array(["a", "b", "a"]).dictionary_encode(),
        "input_ids": column([[7, 8], [9], [10, 11, 12]], pa.int32()),
        "text_after": pa.array(["a", "b", long], pa.string_view()),
        "loss_mask": column([[False, True], [True], [False, False, True]], pa.bool_()),
        "seq_len": pa.array([2, 1, 3], pa.uint16()),
    })


def items():
    """The same ids in every type that can hold them; bits in masks do not start on bytes."""
    ids = [[1, 2, 3], None, [], [100, 5]]
    mask = [[0, 1, 1], None, [], [1, 0]]
    integers = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]
    columns = {}
    for item in integers:
        columns[f"ids_{item}"] = column(ids, item)
        columns[f"ids_large_{item}"] = column(ids, item, pa.large_list)
        columns[f"mask_{item}"] = column(mask, item)
    columns["mask_bool"] = column([m and [bool(x) for x in m] for m in mask], pa.bool_())
    columns["mask_large_bool"] = column([m and [bool(x) for x in m] for m in mask], pa.bool_(), pa.large_list)
    columns["ids_of_two"] = column([[1, 2], None, [3, 4], [5, 6]], pa.int16(), lambda item: pa.list_(item, 2))
    return pa.table(columns)


def bad_items():
    """A row each of what makes it unusable, and a good one last."""
    return pa.table({
        "input_ids": column([None, [1, None], [2**31, 1], [-1], [5], [6, 7], [8], [9, 10]], pa.int64()),
        "loss_mask": column([[1], [1, 1], [1, 1], [1], None, [1, None], [1, 1], [0, 1]], pa.int8()),
        "seq_len": pa.array([1, 2, 2, 1, 1, 2, 1, None], pa.int64()),
    })


def unread_type():
    """A column type that apache-arrow 21 cannot name."""
    return pa.table({
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", "b"])),
        "input_ids": column([[1], [2]], pa.int32()),
    })


os.makedirs(HERE, exist_ok=True)
write("b03.arrow", b03())
write("layouts.arrow", layouts())
write("layouts_v4.arrow", layouts().drop_columns(["sparse", "dense"]),
      options=pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4))
write("items.arrow", items())
write("bad_items.arrow", bad_items())
write("unread_type.arrow", unread_type())
print("pyarrow", pa.__version__)
