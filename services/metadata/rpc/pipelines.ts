import type { Empty } from '#shared/contracts/gen/common';
import type {
  DeletePipelineRequest,
  DeletePipelineResponse,
  GetPipelineRequest,
  GetPipelineResponse,
  ListPipelinesResponse,
  PutPipelineRequest,
  PutPipelineResponse,
} from '#shared/contracts/gen/metadata';
import { AlmanacError } from '#shared/errors/almanac-error';
import { pipelineChanged, type MetadataCatalog } from '../catalog.js';

const TEXT_BYTES_MAX = 256 * 1024;
const NAME_BYTES_MAX = 255;
const VERSIONS_MAX = 10_000;

/** Stores a version. @throws `invalid_arguments`; `resources_exhausted` if there are too many. */
export function putPipeline(catalog: MetadataCatalog, { name, text }: PutPipelineRequest): PutPipelineResponse {
  if (name === '' || Buffer.byteLength(name) > NAME_BYTES_MAX || Buffer.byteLength(text) > TEXT_BYTES_MAX) {
    const limits = `names have 1 to ${NAME_BYTES_MAX} bytes, pipelines at most ${TEXT_BYTES_MAX}`;
    throw new AlmanacError('invalid_arguments', `pipeline is too large: ${limits}`);
  }
  return catalog.change((record) => {
    if (catalog.pipelines.count() >= VERSIONS_MAX) {
      throw new AlmanacError('invalid_arguments', `there are ${VERSIONS_MAX} versions of pipelines: delete some`);
    }
    const nowNs = catalog.clock.nowNs();
    const last = catalog.pipelines.latest(name)?.version ?? 0n;
    const version = nowNs > last ? nowNs : last + 1n;
    catalog.pipelines.insert({ name, version, text });
    record(pipelineChanged({ name, version }));
    return { version, catalogVersion: catalog.version };
  });
}

/** Returns a version, by default the latest; version zero if there is none. */
export function getPipeline(catalog: MetadataCatalog, { name, version }: GetPipelineRequest): GetPipelineResponse {
  const found = version === 0n ? catalog.pipelines.latest(name) : catalog.pipelines.find(name, version);
  return found === undefined ? { version: 0n, text: '' } : { version: found.version, text: found.text };
}

/** Deletes a version; the one before it becomes the latest if it was that. */
export function deletePipeline(
  catalog: MetadataCatalog,
  { name, version }: DeletePipelineRequest,
): DeletePipelineResponse {
  return catalog.change((record) => {
    const deleted = catalog.pipelines.delete(name, version);
    if (deleted) record(pipelineChanged({ name, version: catalog.pipelines.latest(name)?.version ?? 0n }));
    return { deleted, catalogVersion: catalog.version };
  });
}

/** Returns all versions, by name, the newest first. */
export function listPipelines(catalog: MetadataCatalog, _request: Empty): ListPipelinesResponse {
  return { pipelines: catalog.pipelines.versions() };
}
