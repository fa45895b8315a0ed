import { buildError, itemError } from './build-error.js';
import { ERROR_KEY, guarded, joinedSteps } from './guard.js';
import type { KeySlots } from './item.js';
import type { LookupTable } from './lookup-tables.js';
import { Options } from './options.js';
import type { BuildContext, Conceal, Step } from './processors/processor.js';
import { PROCESSORS } from './processors/registry.js';
import type { PipelineResources } from './resources.js';
import type { TimeField } from './transform/transform.js';
import { isArray, isObject, type PipelineValue } from './values/value.js';
import { compileScriptCondition } from './vrl/condition.js';

/** Processors of a pipeline, those inside of other processors included. */
const PROCESSORS_MAX = 200;
/** Processors inside of each other. */
const DEPTH_MAX = 8;

/** A processor of a pipeline. */
export interface CompiledStep {
  readonly name: string;
  readonly run: Step;
}

/** What the processors of a pipeline are compiled with. */
export interface StepsContext {
  /** Name of the pipeline. */
  readonly pipeline: string;
  readonly resources: PipelineResources;
  readonly slots: KeySlots;
  /** Records what the author should know. */
  readonly warn: (text: string) => void;
}

/** The processors of a pipeline, ready to run. */
export interface CompiledSteps {
  readonly steps: readonly CompiledStep[];
  /** Fields that processors set to times. */
  readonly timeFields: readonly TimeField[];
  /** What removes secrets from items that are stored because they failed. */
  readonly concealers: readonly Conceal[];
  /** Tables that processors look up. */
  readonly lookups: readonly LookupTable[];
}

/** Compiles the processors of a pipeline. @throws `invalid_arguments` if one does not build. */
export function compileProcessors(given: PipelineValue, context: StepsContext): CompiledSteps {
  if (given !== null && !isArray(given)) throw buildError('Processors must be a list');
  const compiler = new StepCompiler(context.pipeline, context.resources, context.warn);
  const steps = compiler.list(given ?? [], 'processors', context.slots, 0);
  const { timeFields, concealers, lookups } = compiler;
  return { steps, timeFields, concealers, lookups };
}

class StepCompiler {
  readonly timeFields: TimeField[] = [];
  readonly concealers: Conceal[] = [];
  readonly lookups: LookupTable[] = [];
  readonly #pipeline: string;
  readonly #resources: PipelineResources;
  readonly #warn: (text: string) => void;
  #count = 0;

  constructor(pipeline: string, resources: PipelineResources, warn: (text: string) => void) {
    this.#pipeline = pipeline;
    this.#resources = resources;
    this.#warn = warn;
  }

  /** @param path of the list in the pipeline, for warnings. */
  list(entries: readonly PipelineValue[], path: string, slots: KeySlots, depth: number): CompiledStep[] {
    this.#count += entries.length;
    if (this.#count > PROCESSORS_MAX) throw buildError(`pipeline has more than ${PROCESSORS_MAX} processors`);
    return entries.map((entry, index) => this.#step(entry, { path, index, slots, depth }));
  }

  #step(entry: PipelineValue, place: StepPlace): CompiledStep {
    if (!isObject(entry) || entry.size === 0) throw buildError('Processor must be a map');
    const [name, optionMap] = [...entry][0];
    if (!isObject(optionMap)) throw buildError('Processor must be a map');
    const kind = PROCESSORS.find((it) => it.name === name);
    if (kind === undefined) throw buildError(`Unsupported ${name} processor`);
    const options = new Options(optionMap);
    const path = `${place.path}[${place.index}].${kind.name}`;
    const context = this.#context(path, place.depth);
    const run = this.#guarded(kind.build(options, place.slots, context), kind.name, options, context, place);
    const conceal = kind.conceal?.(options, context);
    if (conceal !== undefined) this.concealers.push(conceal);
    const unit = kind.timeUnit?.(options);
    const isStrict = place.depth === 0 && !options.ignoreMissing && !options.mayBePassedOver;
    if (unit !== undefined && isStrict) this.timeFields.push(...options.fields().map(({ to }) => ({ key: to, unit })));
    for (const warning of options.warnings()) this.#warn(`${path}: ${warning}`);
    return { name: kind.name, run };
  }

  #context(path: string, depth: number): BuildContext {
    return {
      pipeline: this.#pipeline,
      resources: this.#resources,
      lookupTable: (spec) => {
        const table = this.#resources.lookups.table(spec);
        this.lookups.push(table);
        return table;
      },
      steps: (option, given, slots) => {
        if (!isArray(given)) throw buildError(`Field ${option} must be a list of processors`);
        if (depth >= DEPTH_MAX) throw buildError(`processors are nested in more than ${DEPTH_MAX} levels`);
        const steps = this.list(given, `${path}.${option}`, slots, depth + 1);
        return joinedSteps(
          steps.map(({ run }) => run),
          itemError,
        );
      },
    };
  }

  #guarded(run: Step, processor: string, options: Options, context: BuildContext, { index, slots }: StepPlace): Step {
    const source = options.value('if');
    const handlers = options.value('on_failure');
    const ignoresFailure = options.flag('ignore_failure', false);
    options.text('description');
    const tag = options.text('tag');
    if (source === undefined && handlers === undefined && !ignoresFailure) return run;
    if (source !== undefined && typeof source !== 'string' && typeof source !== 'boolean') {
      throw buildError('Field if must be a string');
    }
    const nowNs = (): bigint => this.#resources.clock.nowNs();
    const condition =
      source === undefined
        ? undefined
        : compileScriptCondition(String(source), slots, nowNs, (text) => options.warn(text));
    const onFailure = handlers === undefined ? undefined : context.steps('on_failure', handlers, slots);
    const place = { processor, index, tag };
    return guarded(run, { condition, ignoresFailure, onFailure, place }, slots.slotOf(ERROR_KEY));
  }
}

/** Where a processor is in its pipeline. */
interface StepPlace {
  readonly path: string;
  readonly index: number;
  readonly slots: KeySlots;
  readonly depth: number;
}
