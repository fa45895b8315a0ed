/**
 * Types of attributes whose meaning is stable.
 *
 * @see https://opentelemetry.io/docs/specs/semconv
 */

const SPAN_INTEGERS =
  'client.port server.port network.local.port network.peer.port http.request.resend_count http.response.status_code db.operation.batch.size';
const SPAN_TEXTS =
  'client.address server.address network.local.address network.peer.address network.protocol.name network.protocol.version ' +
  'network.transport network.type http.request.method http.request.method_original http.route url.full url.path url.query ' +
  'url.scheme user_agent.original rpc.method rpc.method_original rpc.system rpc.system.name rpc.response.status_code ' +
  'db.collection.name db.namespace db.operation.name db.query.summary db.query.text db.response.status_code ' +
  'db.stored_procedure.name db.system.name error.type';
const RESOURCE_TEXTS =
  'service.instance.id service.namespace service.version telemetry.sdk.language telemetry.sdk.name telemetry.sdk.version ' +
  'container.id user_agent.original k8s.namespace.name k8s.container.name k8s.pod.hostname k8s.pod.ip k8s.pod.start_time';
const NAMED_KINDS = 'cluster cronjob daemonset deployment job node pod replicaset statefulset';

const TYPES = new Map<string, 'Int64' | 'String'>();
for (const key of SPAN_INTEGERS.split(' ')) TYPES.set(`span_attributes.${key}`, 'Int64');
for (const key of SPAN_TEXTS.split(' ')) TYPES.set(`span_attributes.${key}`, 'String');
for (const key of RESOURCE_TEXTS.split(' ')) TYPES.set(`resource_attributes.${key}`, 'String');
for (const kind of NAMED_KINDS.split(' ')) {
  TYPES.set(`resource_attributes.k8s.${kind}.name`, 'String');
  TYPES.set(`resource_attributes.k8s.${kind}.uid`, 'String');
}
TYPES.set('resource_attributes.k8s.container.restart_count', 'Int64');

/** Returns the type of a column of attributes; undefined if its values decide. */
export function semanticType(column: string): 'Int64' | 'String' | undefined {
  return TYPES.get(column);
}
