"""Reads /metrics with Prometheus's own parser, and checks the dashboard and the alerts with it."""

import json
import re
import sys
import urllib.request
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families

url, here = sys.argv[1], Path(sys.argv[2])
page = urllib.request.urlopen(url + "/metrics").read().decode()
families = list(text_string_to_metric_families(page))
names = [family.name for family in families]
assert len(names) == len(set(names)), "a metric stands twice"
samples = {}
for family in families:
    assert family.documentation, f"{family.name} has no help"
    assert family.type in ("counter", "gauge"), f"{family.name} is a {family.type}"
    assert family.samples, f"{family.name} has no sample"
    for sample in family.samples:
        assert sample.name.startswith("stub_provider_"), sample.name
        key = (sample.name, tuple(sorted(sample.labels.items())))
        assert key not in samples, f"{key} stands twice"
        samples[key] = sample.value
there = {name for name, _ in samples}

alerts = yaml.safe_load((here / "grafana/alerts.yaml").read_text())
rules = [rule for group in alerts["groups"] for rule in group["rules"]]
dashboard = json.loads((here / "grafana/dashboard.json").read_text())
expressions = [rule["expr"] for rule in rules]
expressions += [t["expr"] for panel in dashboard["panels"] for t in panel.get("targets", [])]
for expression in expressions:
    for name in re.findall(r"stub_provider_\w+", expression):
        assert name in there, f"{name} is not in /metrics"
assert any("duplicate_deliveries" in rule["expr"] for rule in rules), "no alert on duplicates"
print(f"metrics: {len(samples)} samples of {len(names)} metrics, {len(expressions)} expressions name only these")
