import { Pattern } from '../text/pattern.js';
import { isObject, printValue, type ObjectValue, type PipelineValue } from '../values/value.js';
import { compileBinary } from './binary.js';
import { compileCall } from './call.js';
import { constant, ZEROS, type Compiled, type ExpressionCompiler } from './expression-compiler.js';
import { compileError } from './lex.js';
import {
  existsAt,
  ScriptAbort,
  ScriptFailure,
  ScriptReturn,
  valueAt,
  withoutValueAt,
  type ScriptMachine,
} from './machine.js';
import { parseScript } from './parse.js';
import { plainValue, ScriptScope } from './scope.js';
import type { ClosureNode, Expression, PathTarget } from './syntax.js';
import {
  ANY,
  eitherType,
  kindNames,
  Kinds,
  scriptTypeAt,
  typeOfKinds,
  type ScriptValue,
  type ScriptType,
} from './types.js';

/** A script that is ready to run. */
export interface CompiledScript {
  readonly warnings: readonly string[];
  /** Returns the result of the script over the event of the machine. @throws `ScriptFailure`, `ScriptAbort`. */
  readonly run: (machine: ScriptMachine) => ScriptValue;
}

/** Compiles a script. @throws `invalid_arguments` with line and column. */
export function compileScript(source: string): CompiledScript {
  const { run, type: result, warnings } = compileExpressions(source, parseScript(source));
  if ((result.kinds & Kinds.regex) !== 0) throw compileError(source, 0, "Please don't use regex in Vrl script");
  // A script that always aborts has no result.
  if (result.kinds !== 0 && (result.kinds & (Kinds.object | Kinds.array | Kinds.null)) === 0) {
    throw new ScriptResultError(`Vrl script should return object or array in the end, got ${kindNames(result.kinds)}`);
  }
  return {
    warnings,
    run(machine) {
      try {
        return run(machine);
      } catch (error) {
        if (error instanceof ScriptReturn) return error.value;
        throw error;
      }
    },
  };
}

/** Expressions that are ready to run, and all that is known of their result. */
export interface CompiledExpressions extends CompiledScript {
  readonly type: ScriptType;
}

/** Compiles the expressions of a source, each of which must handle its errors. @throws `invalid_arguments`. */
export function compileExpressions(source: string, body: readonly Expression[]): CompiledExpressions {
  const compiler = new Compiler(source);
  const { run, type } = compiler.body(body);
  return { run, type: eitherTypes(type, compiler.returned), warnings: compiler.warnings };
}

/** A script whose result cannot be the item of a pipeline. */
export class ScriptResultError extends Error {}

function eitherTypes(type: ScriptType, others: readonly ScriptType[]): ScriptType {
  return others.reduce(eitherType, type);
}

/** Checks the expressions of a script and compiles them to functions. */
class Compiler implements ExpressionCompiler {
  readonly source: string;
  readonly warnings: string[] = [];
  readonly returned: ScriptType[] = [];
  readonly scope = new ScriptScope();

  constructor(source: string) {
    this.source = source;
  }

  fail(at: number, text: string): Error {
    return compileError(this.source, at, text);
  }

  warn(at: number, text: string): void {
    const line = this.source.slice(0, at).split('\n').length;
    this.warnings.push(`line ${line}: ${text}`);
  }

  /** Compiles statements, each of which must handle its errors. */
  body(statements: readonly Expression[]): Compiled {
    const compiled = statements.map((statement) => this.handled(statement));
    const last = compiled.at(-1) ?? constant(null);
    const runs = compiled.map(({ run }) => run);
    return {
      type: last.type,
      canFail: false,
      run(machine) {
        let value: ScriptValue = null;
        for (const run of runs) {
          machine.step();
          value = run(machine);
        }
        return value;
      },
    };
  }

  /** Compiles an expression that must not fail. */
  handled(expression: Expression): Compiled {
    const compiled = this.expression(expression);
    if (compiled.canFail) {
      throw this.fail(expression.at, 'unhandled error: handle it by `!`, `??` or `ok, err =`');
    }
    return compiled;
  }

  expression(node: Expression): Compiled {
    switch (node.kind) {
      case 'literal':
        return constant(node.value);
      case 'template':
        return this.#template(node);
      case 'regex':
        return constant(new Pattern(node.pattern));
      case 'path':
        return this.#path(node.target);
      case 'member':
        return this.#member(node);
      case 'array':
        return this.#array(node.elements);
      case 'object':
        return this.#object(node.members);
      case 'not':
      case 'negative':
        return this.#unary(node.kind, node.of);
      case 'binary':
        return compileBinary(this, node);
      case 'call':
        return compileCall(this, node);
      default:
        return this.#statement(node);
    }
  }

  #statement(
    node: Extract<Expression, { kind: 'assign' | 'assignFallible' | 'if' | 'block' | 'abort' | 'return' }>,
  ): Compiled {
    switch (node.kind) {
      case 'assign':
        return this.#assign(node);
      case 'assignFallible':
        return this.#assignFallible(node);
      case 'if':
        return this.#if(node);
      case 'block':
        // A single expression in parentheses may be handled outside of them.
        return node.body.length === 1 ? this.expression(node.body[0]) : this.scope.block(() => this.body(node.body));
      case 'abort': {
        const message = node.message === undefined ? undefined : this.handled(node.message).run;
        return {
          type: typeOfKinds(0),
          canFail: false,
          run(machine) {
            const text = message === undefined ? 'aborted' : `aborted: ${textOf(message(machine))}`;
            throw new ScriptAbort(text);
          },
        };
      }
      case 'return': {
        const { run, type } = this.handled(node.value);
        this.returned.push(type);
        return {
          type: typeOfKinds(0),
          canFail: false,
          run(machine) {
            throw new ScriptReturn(run(machine));
          },
        };
      }
    }
  }

  /** Compiles the closure of a call. Returns how to run it with values for its parameters. */
  closure(
    node: ClosureNode,
    at: number,
    valueCount: number,
  ): (machine: ScriptMachine, values: readonly ScriptValue[]) => ScriptValue {
    if (node.parameters.length !== valueCount) {
      throw this.fail(at, `closure takes ${valueCount} parameters, not ${node.parameters.length}`);
    }
    // It may run any number of times: what it assigns is unknown before its second run, and afterwards.
    this.#forgetAssigned(node.body);
    return this.scope.block(() => {
      const slots = node.parameters.map((name) => this.scope.declare(name, ANY, true));
      const { result, after } = this.scope.branch(() => this.body(node.body));
      this.scope.join(after);
      return (machine, values) => {
        for (const [i, slot] of slots.entries()) machine.variables[slot] = values[i] ?? null;
        return result.run(machine);
      };
    });
  }

  #forgetAssigned(body: readonly Expression[]): void {
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      const { kind, target, error } = value as { kind?: string; target?: PathTarget; error?: PathTarget };
      if (kind === 'assign' || kind === 'assignFallible') {
        for (const it of [target, error]) if (it) this.scope.assign(it, ANY);
      }
      if (kind === 'call') this.scope.eventType = { kinds: Kinds.any };
      if (!(value instanceof Map)) for (const member of Object.values(value)) visit(member);
    };
    visit(body);
  }

  #template({ parts }: Extract<Expression, { kind: 'template' }> & { readonly at: number }): Compiled {
    const runs = parts.map((part): ((machine: ScriptMachine) => ScriptValue) => {
      if (typeof part === 'string') return () => part;
      const slot = this.scope.slotOf(part.variable);
      if (slot === undefined) throw this.fail(0, `undefined variable "${part.variable}"`);
      return (machine) => machine.variables[slot];
    });
    return {
      type: typeOfKinds(Kinds.string),
      canFail: false,
      run(machine) {
        let text = '';
        for (const run of runs) text += textOf(run(machine));
        machine.use(text.length);
        return text;
      },
    };
  }

  #root(target: PathTarget): NonNullable<ReturnType<ScriptScope['reader']>> {
    const found = this.scope.reader(target);
    if (found === undefined) {
      const name = target.root.kind === 'variable' ? target.root.name : '';
      throw this.fail(target.at, `undefined variable "${name}"`);
    }
    return found;
  }

  #path(target: PathTarget): Compiled {
    const { type, read } = this.#root(target);
    const { steps } = target;
    if (steps.length === 0) return { type, canFail: false, run: read };
    return { type: scriptTypeAt(type, steps), canFail: false, run: (machine) => valueAt(read(machine), steps) };
  }

  #member({ of, steps }: Extract<Expression, { kind: 'member' }>): Compiled {
    const { type, canFail, run } = this.expression(of);
    return { type: scriptTypeAt(type, steps), canFail, run: (machine) => valueAt(run(machine), steps) };
  }

  #array(elements: readonly Expression[]): Compiled {
    const compiled = elements.map((element) => this.expression(element));
    const runs = compiled.map(({ run }) => run);
    return {
      type: typeOfKinds(Kinds.array),
      canFail: compiled.some(({ canFail }) => canFail),
      run: (machine) => {
        machine.use(8 * runs.length);
        return runs.map((run) => plainValue(run(machine)));
      },
    };
  }

  #object(members: readonly (readonly [string, Expression])[]): Compiled {
    const compiled = members.map(([key, value]) => [key, this.expression(value)] as const);
    const types = new Map(compiled.map(([key, { type }]) => [key, type]));
    return {
      type: { kinds: Kinds.object, members: types, otherKinds: 0 },
      canFail: compiled.some(([, { canFail }]) => canFail),
      run(machine) {
        const object: ObjectValue = new Map();
        for (const [key, { run }] of compiled) object.set(key, plainValue(run(machine)));
        machine.use(16 * compiled.length);
        return object;
      },
    };
  }

  #unary(kind: 'not' | 'negative', of: Expression): Compiled {
    const { type, canFail, run } = this.expression(of);
    const isBoolean = type.kinds === Kinds.boolean;
    if (kind === 'not') {
      if ((type.kinds & Kinds.boolean) === 0) throw this.fail(of.at, `! needs a boolean, not ${kindNames(type.kinds)}`);
      return {
        type: typeOfKinds(Kinds.boolean),
        canFail: canFail || !isBoolean,
        run: (machine) => {
          const value = run(machine);
          if (typeof value !== 'boolean') throw new ScriptFailure('can only negate a boolean');
          return !value;
        },
      };
    }
    return {
      type: typeOfKinds(type.kinds & Kinds.number),
      canFail: canFail || (type.kinds & ~Kinds.number) !== 0,
      run: (machine) => {
        const value = run(machine);
        if (typeof value === 'bigint') return BigInt.asIntN(64, -value);
        if (typeof value === 'number') return -value;
        throw new ScriptFailure('can only negate a number');
      },
    };
  }

  #assign({ target, merges, value, at }: Extract<Expression, { kind: 'assign' }>): Compiled {
    const { type, run, canFail } = this.expression(value);
    if (canFail) throw this.fail(value.at, 'unhandled error: handle it by `!`, `??` or `ok, err =`');
    if (target === undefined) return { type, canFail: false, run };
    if (merges && (type.kinds & ~Kinds.object) !== 0) throw this.fail(at, '|= needs an object');
    const before = merges ? this.#path(target) : undefined;
    this.scope.assign(target, merges ? typeOfKinds(Kinds.object) : type);
    const store = this.scope.store(target);
    return {
      type,
      canFail: false,
      run(machine) {
        const given = run(machine);
        if (before === undefined) {
          store(machine, given);
          return given;
        }
        const old = before.run(machine);
        const merged: ObjectValue = new Map(isObject(old as PipelineValue) ? (old as ObjectValue) : undefined);
        for (const [key, member] of given as ObjectValue) merged.set(key, member);
        store(machine, merged);
        return merged;
      },
    };
  }

  #assignFallible(node: Extract<Expression, { kind: 'assignFallible' }>): Compiled {
    const { type, run, canFail } = this.expression(node.value);
    if (!canFail) this.warn(node.at, 'needless error target: the expression cannot fail');
    const { kinds } = type;
    const zero = ZEROS.get(kinds) ?? null;
    this.scope.assign(node.target, ZEROS.has(kinds) ? typeOfKinds(kinds) : typeOfKinds(kinds | Kinds.null));
    this.scope.assign(node.error, typeOfKinds(Kinds.string | Kinds.null));
    const store = this.scope.store(node.target);
    const storeError = this.scope.store(node.error);
    return {
      type,
      canFail: false,
      run(machine) {
        try {
          const value = run(machine);
          store(machine, value);
          storeError(machine, null);
          return value;
        } catch (error) {
          if (!(error instanceof ScriptFailure)) throw error;
          store(machine, zero);
          storeError(machine, error.message);
          return error.message;
        }
      },
    };
  }

  #if({ condition, then, otherwise, at }: Extract<Expression, { kind: 'if' }>): Compiled {
    const test = this.body(condition);
    if (test.type.kinds !== Kinds.boolean) {
      throw this.fail(at, `condition of if must be a boolean, not ${kindNames(test.type.kinds)}`);
    }
    const first = this.scope.branch(() => this.body(then));
    const second = otherwise === undefined ? undefined : this.scope.branch(() => this.body(otherwise));
    if (second === undefined) this.scope.join(first.after);
    else {
      this.scope.follow(second.after);
      this.scope.join(first.after);
    }
    const otherType = second?.result.type ?? typeOfKinds(Kinds.null);
    return {
      type: eitherType(first.result.type, otherType),
      canFail: false,
      run: (machine) => {
        if (test.run(machine) === true) return first.result.run(machine);
        return second === undefined ? null : second.result.run(machine);
      },
    };
  }

  /** Compiles `exists(path)`, and `del(path)`, which also removes what it returns. */
  pathFunction(name: 'exists' | 'del', target: PathTarget, compacts: boolean): Compiled {
    const { type, read } = this.#root(target);
    const { steps } = target;
    if (name === 'exists') {
      return { type: typeOfKinds(Kinds.boolean), canFail: false, run: (machine) => existsAt(read(machine), steps) };
    }
    const found = scriptTypeAt(type, steps);
    this.scope.assign(target, typeOfKinds(Kinds.null));
    const store = this.scope.store({ ...target, steps: [] });
    return {
      type: found,
      canFail: false,
      run(machine) {
        const root = read(machine);
        const value = valueAt(root, steps);
        const left =
          steps.length === 0 ? new Map<string, PipelineValue>() : withoutValueAt(plainValue(root), steps, compacts);
        store(machine, left);
        return value;
      },
    };
  }
}

function textOf(value: ScriptValue): string {
  return value instanceof Pattern ? value.source : printValue(value);
}
