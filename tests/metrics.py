"""What `/metrics` says, read as Prometheus reads it."""

from __future__ import annotations

from django.test import Client
from prometheus_client.parser import text_string_to_metric_families


def read_metrics(client: Client) -> dict[str, float]:
    """Each sample by its name and labels, `lakewarden_outbox_due{backend="1"}`."""
    text = client.get("/metrics").content.decode()
    metrics = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            metrics[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return metrics
