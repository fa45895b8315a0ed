import { BASIC_PATTERNS } from './patterns/basic.js';
import { NETWORK_PATTERNS } from './patterns/network.js';
import { SYSTEM_PATTERNS } from './patterns/system.js';
import { TIME_PATTERNS } from './patterns/time.js';
import { WEB_PATTERNS } from './patterns/web.js';

/** The named patterns of `grok`. None needs look-around, so all run in linear time. */
export const GROK_PATTERNS: ReadonlyMap<string, string> = new Map(
  [BASIC_PATTERNS, NETWORK_PATTERNS, TIME_PATTERNS, WEB_PATTERNS, SYSTEM_PATTERNS].flatMap((it) => Object.entries(it)),
);

/** Names of the Elastic Common Schema for fields of the named patterns. */
export const ECS_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    agent: 'user_agent.original',
    auth: 'user.name',
    bytes: 'http.response.body.bytes',
    class: 'log.origin.class',
    client_ip: 'source.ip',
    client_port: 'source.port',
    clientip: 'source.address',
    clientport: 'source.port',
    database: 'database.name',
    file: 'log.origin.file.name',
    http_request: 'url.original',
    http_status_code: 'http.response.status_code',
    http_verb: 'http.request.method',
    http_version: 'http.version',
    httpversion: 'http.version',
    ident: 'apache.access.user.identity',
    line: 'log.origin.file.line',
    loglevel: 'log.level',
    logsource: 'host.hostname',
    method: 'log.origin.function',
    pid: 'process.pid',
    program: 'process.name',
    referrer: 'http.request.referrer',
    request: 'url.original',
    response: 'http.response.status_code',
    syslog5424_app: 'process.name',
    syslog5424_host: 'host.hostname',
    syslog5424_msg: 'message',
    syslog5424_pri: 'log.syslog.priority',
    syslog5424_proc: 'process.pid',
    syslog5424_ts: 'timestamp',
    thread: 'process.thread.name',
    tid: 'process.thread.id',
    user: 'user.name',
    username: 'user.name',
    verb: 'http.request.method',
  }),
);
