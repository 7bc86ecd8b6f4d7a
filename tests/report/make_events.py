"""Makes events.tfevents with TensorBoard's own message classes and record writer.

Run: python make_events.py events.tfevents (needs the `tensorboard` package). The test writes the
same events with the same times and compares every byte.
"""
import sys

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.summary.writer.record_writer import RecordWriter


def scalar(tag, value):
    return summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, simple_value=value)])


def text(tag, markdown):
    metadata = summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text"))
    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
    tensor = tensor_pb2.TensorProto(
        dtype=types_pb2.DT_STRING, tensor_shape=shape, string_val=[markdown.encode()])
    value = summary_pb2.Summary.Value(tag=tag, metadata=metadata, tensor=tensor)
    return summary_pb2.Summary(value=[value])


def session_start():
    return event_pb2.SessionLog(status=event_pb2.SessionLog.START)


long_text = "| key | value |\n|---|---|\n" + "| position | rope – 旋转 |\n" * 40
events = [
    event_pb2.Event(wall_time=1700000000.25, file_version="brain.Event:2"),
    event_pb2.Event(wall_time=1700000001.5, step=1, summary=scalar("training/loss", 9.25)),
    event_pb2.Event(wall_time=1700000002, step=300, summary=scalar("training/loss", -0.0)),
    event_pb2.Event(wall_time=1700000003, step=5000000000, summary=scalar("x", float("inf"))),
    event_pb2.Event(wall_time=1700000004, summary=text("configuration", long_text)),
    event_pb2.Event(wall_time=1700000005, step=301, session_log=session_start()),
]
with open(sys.argv[1], "wb") as file:
    writer = RecordWriter(file)
    for event in events:
        writer.write(event.SerializeToString(deterministic=True))
    writer.flush()
