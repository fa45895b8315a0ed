import { buildError } from '../build-error.js';
import { INT64_MAX, INT64_MIN, isArray, isObject, printValue, type ObjectValue, type PipelineValue } from './value.js';

const DEPTH_MAX = 64;

/**
 * Returns a value of YAML as one of pipelines: keys are texts, integers have 64 bits, and what is no number is null.
 *
 * @throws `invalid_arguments` if it has more than 64 levels.
 */
export function yamlValue(given: PipelineValue | undefined, depth = 0): PipelineValue {
  if (depth > DEPTH_MAX) throw buildError(`Yaml load error.: more than ${DEPTH_MAX} levels`);
  if (typeof given === 'bigint') return given >= INT64_MIN && given <= INT64_MAX ? given : Number(given);
  if (typeof given === 'number') return Number.isNaN(given) ? null : given;
  if (isArray(given)) return given.map((element) => yamlValue(element, depth + 1));
  if (!isObject(given)) return given ?? null;
  const object: ObjectValue = new Map();
  for (const [key, member] of given) object.set(keyText(key), yamlValue(member, depth + 1));
  return object;
}

function keyText(key: PipelineValue): string {
  return key === null ? 'null' : printValue(key);
}
