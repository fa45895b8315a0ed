import { ALMANAC_ERRORS, REMOTE_WRITE_ERRORS } from '../../openapi/error-forms.js';
import { DATABASE_PARAMETERS, HINTS_HEADER, inQuery, PIPELINE_HEADER } from '../../openapi/parameters.js';
import type { RouteDoc, RouteGroup } from '../../openapi/route-doc.js';
import { BINARY, emptyDoc, textDoc } from '../../openapi/schemas.js';

const GROUP: RouteGroup = {
  name: 'Prometheus remote write',
  description: 'Writes of Prometheus and its agents.',
  page: 'protocols/prometheus-remote-write.md',
  errors: REMOTE_WRITE_ERRORS,
};

/** Describes `POST /write`. */
export const REMOTE_WRITE_DOC: RouteDoc = {
  group: GROUP,
  summary: 'Writes samples, histograms, exemplars and metadata',
  description: 'Headers of the reply have the numbers of samples, histograms and exemplars that were written.',
  parameters: [
    ...DATABASE_PARAMETERS,
    inQuery('physical_table', 'Table that stores the series of new metrics.'),
    inQuery('get_vm_proto_version', 'Present: the reply is the version of the protocol of VictoriaMetrics.'),
    HINTS_HEADER,
    PIPELINE_HEADER,
  ],
  body: {
    description:
      'The protobuf message `prometheus.WriteRequest` of Remote Write 1.0, or `io.prometheus.write.v2.Request` of 2.0, ' +
      'compressed with snappy or zstd: https://prometheus.io/docs/specs/prw/remote_write_spec/',
    content: { 'application/x-protobuf': BINARY },
  },
  replies: {
    200: textDoc('The version of the protocol, for `get_vm_proto_version`.'),
    204: emptyDoc('Everything is stored.'),
  },
};

/** Describes `GET /write`. */
export const REMOTE_WRITE_PROBE_DOC: RouteDoc = {
  group: GROUP,
  errors: ALMANAC_ERRORS,
  summary: 'Tells agents that check it that this is the endpoint of remote write',
  replies: { 200: textDoc('A line of text.') },
  example: {},
};
