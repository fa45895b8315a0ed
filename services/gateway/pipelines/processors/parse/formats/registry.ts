import type { ParseFormat } from '../parse-format.js';
import { APACHE, NGINX_ACCESS } from './access-log.js';
import { CEF } from './cef.js';
import { CRI, DOCKER, KLOG } from './container-log.js';
import { KEY_VALUE, LOGFMT_LINE } from './key-value.js';
import { NGINX_ERROR } from './nginx-error.js';
import { SYSLOG } from './syslog.js';
import { QUERY, URL_PARTS } from './url.js';
import { USER_AGENT } from './user-agent.js';

/** All formats of `parse`. */
export const PARSE_FORMATS: readonly ParseFormat[] = [
  LOGFMT_LINE,
  KEY_VALUE,
  SYSLOG,
  NGINX_ACCESS,
  NGINX_ERROR,
  APACHE,
  CRI,
  DOCKER,
  KLOG,
  CEF,
  URL_PARTS,
  QUERY,
  USER_AGENT,
];
