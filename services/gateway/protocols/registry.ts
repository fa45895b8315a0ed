import { elasticsearch } from './elasticsearch/index.js';
import { ingest } from './ingest/index.js';
import { lineproto } from './lineproto/index.js';
import { loki } from './loki/index.js';
import { opentsdb } from './opentsdb/index.js';
import { otlp } from './otlp/index.js';
import { splunk } from './splunk/index.js';
import type { Protocol } from './protocol.js';
import { remoteWrite } from './remotewrite/index.js';

/** All protocols that take rows. */
export const PROTOCOLS: readonly Protocol[] = [
  lineproto, // InfluxDB line protocol
  remoteWrite, // Prometheus remote write
  loki, // push API of Grafana Loki
  opentsdb, // points of OpenTSDB over HTTP
  otlp, // OpenTelemetry: metrics, traces and logs
  splunk, // HTTP event collector of Splunk
  elasticsearch, // bulk API of Elasticsearch
  ingest, // JSON and text through pipelines
];
