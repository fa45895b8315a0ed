import type { Column } from '#shared/contracts/gen/common';
import { dataType, UNIT_NS, type TimeUnit } from '#shared/schema/data-type';
import { timeIndexOf } from '#shared/schema/table-schema';
import type { TimeBounds } from '#shared/segments/bands';

import {
  fieldsAmong,
  NotForKernels,
  tagsAmong,
  type Aggregate,
  type Arithmetic,
  type GroupKey,
  type KernelQuery,
  type NewestRows,
  type ResultCondition,
  type ResultPosition,
} from '../../../kernels/query.js';
import { isNumeric } from '../../../kernels/preconditions.js';
import { STEP_MAX } from '../../../kernels/time-grid.js';
import { rangeMark, type RangeDurations } from '../../range/flat-range.js';
import { isPlainCall, mapChildren, type Ast } from '../../syntax/ast.js';
import type { RunLiterals, RunValues } from '../../syntax/literals.js';
import type { Expressions } from '../expressions.js';
import { kernelArithmetic, type ArithmeticScope, type PlanArithmetic } from './kernel-arithmetic.js';
import { checkClauses, checkTable, type SelectDetails } from './kernel-clauses.js';
import {
  conditionsIn,
  kernelCondition,
  numberCondition,
  testedFields,
  type PlanCondition,
} from './kernel-conditions.js';
import {
  aggregateOfColumn,
  aggregateType,
  checkOutput,
  columnItem,
  isPlainStar,
  resultColumns,
  timesType,
  type ResultColumns,
  type ResultItem,
  unsupportedItem,
} from './kernel-outputs.js';
import { modifiersOf, ordersOf, valuesOfRun, type ForRun, type OrderDetails } from './kernel-modifiers.js';
import { newestSelection } from './newest-rows.js';
import type { PlanTable } from '../plan-table.js';
import type { ResolvedQuery } from '../resolve.js';

/** A query that kernels can run; literals come with each run. */
export interface KernelShape {
  /**
   * Returns the query of one run.
   *
   * @param durations of a range query
   * @throws `NotForKernels` for literals that the engine must compare.
   */
  bind(run: RunValues, bounds: TimeBounds, durations?: RangeDurations): KernelQuery;
  /** Number of runs that are left to the engine, because it had to run the query before. */
  engineRuns: number;
  /** Why it had to. */
  engineReason: string;
  /** Undefined: the engine must describe the result. */
  readonly columns: ResultColumns | undefined;
}

/** What a plan is recognised by, besides its tree. */
export interface PlannedText extends RunLiterals {
  /** Begins the aliases of items without a name (`resultColumns`). */
  readonly nameMarker: string;
  /** Whether functions mark range expressions, as in a flat query. */
  readonly marksRanges?: boolean;
}

/** Why the engine must run a query. */
export interface KernelRefusal {
  readonly refusal: string;
}

/** Recognises a resolved query that kernels can run. @param planned has the literals of the statement that the plan is made from */
export function kernelShapeOf(ast: Ast, resolved: ResolvedQuery, planned: PlannedText): KernelShape | KernelRefusal {
  try {
    return new Recogniser(ast, resolved, planned).shape();
  } catch (error) {
    if (error instanceof NotForKernels) return { refusal: error.message };
    throw error;
  }
}

class Recogniser {
  readonly #ast: Ast;
  readonly #expressions: Expressions;
  readonly #plan: PlanTable;
  /** The reference to the table. */
  readonly #from: Ast;
  readonly #unit: TimeUnit;
  readonly #keys: GroupKey[] = [];
  readonly #aggregates: Aggregate[] = [];
  readonly #arithmetic: PlanArithmetic[] = [];
  /** Positions of expressions over aggregates by their nodes, which several clauses may name. */
  readonly #arithmeticAt = new Map<Ast, ResultPosition>();
  readonly #arithmeticScope: ArithmeticScope;
  readonly #planned: PlannedText;
  /** Tags by which the query selects the newest rows, without another condition. */
  readonly #newestTags: readonly Column[] | undefined;
  /** Reports whether the positions in GROUP BY, or in ORDER BY of DISTINCT ON, are those of the plan. */
  readonly #hasSamePositions: ForRun<boolean>[] = [];

  constructor(ast: Ast, { tables, expressions }: ResolvedQuery, planned: PlannedText) {
    this.#ast = ast;
    this.#planned = planned;
    this.#expressions = expressions;
    this.#arithmeticScope = {
      expressions,
      aggregateOf: (node) => {
        const aggregate = this.#aggregateOf(node);
        return aggregate && { aggregate, index: this.#indexOf(aggregate) };
      },
    };
    const newest = tables.length === 2 ? newestSelection(ast, tables, expressions) : undefined;
    this.#newestTags = newest?.tags;
    const from = tables.length === 1 ? ast.from_table : newest?.from;
    if (ast.type !== 'SELECT_NODE' || from?.type !== 'BASE_TABLE') {
      throw new NotForKernels('the query is not a SELECT over one table');
    }
    this.#from = from;
    [this.#plan] = tables;
    checkTable(this.#plan);
    this.#unit = dataType(timeIndexOf(this.#plan.table).type).timeUnit ?? 'ns';
    if (this.#unit === 's') throw new NotForKernels('the time index has seconds');
  }

  shape(): KernelShape {
    checkClauses(this.#ast, this.#from);
    if (this.#plan.texts.length > 0) throw new NotForKernels('the query has conditions on texts');
    const where = this.#newestTags === undefined ? this.#ast.where_clause : undefined;
    const conditions = this.#conditions(where ?? undefined);
    return this.#isGrouped() ? this.#groups(conditions) : this.#rows(conditions);
  }

  #isGrouped(): boolean {
    const { group_expressions: groups = [], having, select_list: items = [] } = this.#ast;
    if (groups.length > 0 || having || (this.#ast as SelectDetails).aggregate_handling !== 'STANDARD_HANDLING') {
      return true;
    }
    return items.some((item) => this.#aggregatesIn(item).length > 0);
  }

  #groups(conditions: readonly PlanCondition[]): KernelShape {
    if (this.#newestTags !== undefined) throw new NotForKernels('the newest rows are aggregated');
    this.#readKeys();
    this.#readAggregates();
    const outputs = (this.#ast.select_list ?? []).map((item) => this.#position(item));
    const having = this.#having(this.#ast.having ?? undefined);
    const positionOf = (node: Ast): ResultPosition => this.#position(this.#named(node, true));
    const expressions = this.#expressions;
    const options = { expressions, allowsDistinct: false, outputs, positionOf };
    const { order, limit, offset } = modifiersOf(this.#ast, options);
    const [keys, aggregates, isSame] = [this.#keys, this.#aggregates, this.#hasSamePositions];
    const computed = this.#arithmetic.map(({ bind }): ForRun<Arithmetic> => bind);
    const fields = fieldsAmong([...testedFields(conditions), ...aggregates.map(({ field }) => field)]);
    const labelTags = tagsAmong(keys);
    return {
      ...{ engineRuns: 0, engineReason: '', columns: this.#groupColumns(outputs) },
      bind(run, bounds) {
        checkPositions(isSame, run);
        const { tagConditions, fieldConditions } = conditionsIn(run, conditions);
        return {
          kind: 'groups',
          fields,
          labelTags,
          keys,
          aggregates,
          outputs,
          bounds,
          tagConditions,
          fieldConditions,
          expressions: valuesOfRun(computed, run),
          order: valuesOfRun(order, run),
          having: valuesOfRun(having, run),
          limit: limit(run),
          offset: offset(run),
        };
      },
    };
  }

  #rows(conditions: readonly PlanCondition[]): KernelShape {
    const items = this.#ast.select_list ?? [];
    const columns = items.flatMap((item) => (this.#isWholeRow(item) ? this.#plan.table.columns : this.#output(item)));
    for (const column of columns) checkOutput(column);
    const outputs = columns.map((_, i) => i);
    const newest = this.#newest();
    const positionOf = (node: Ast): ResultPosition => {
      const column = this.#output(this.#named(node, true));
      checkOutput(column);
      const at = columns.findIndex(({ id }) => id === column.id);
      // Columns that only sort follow those of the result.
      return at === -1 ? columns.push(column) - 1 : at;
    };
    const expressions = this.#expressions;
    const { order, limit, offset } = modifiersOf(this.#ast, { expressions, allowsDistinct: true, outputs, positionOf });
    const isSame = this.#hasSamePositions;
    const fields = fieldsAmong([...testedFields(conditions), ...columns]);
    const labelTags = newest?.tags ?? [];
    const results = items.flatMap((item) => {
      return this.#isWholeRow(item) ? this.#plan.table.columns.map(columnItem) : this.#columnItem(item);
    });
    return {
      ...{ engineRuns: 0, engineReason: '', columns: resultColumns(results, this.#planned.nameMarker) },
      bind(run, bounds) {
        checkPositions(isSame, run);
        const { tagConditions, fieldConditions } = conditionsIn(run, conditions);
        return {
          kind: 'rows',
          fields,
          labelTags,
          columns,
          newest,
          bounds,
          tagConditions,
          fieldConditions,
          order: valuesOfRun(order, run),
          limit: limit(run),
          offset: offset(run),
        };
      },
    };
  }

  #columnItem(item: Ast): ResultItem {
    const { name, type } = this.#output(item);
    // The engine names a column as the table does, or as the query does.
    const isSame = (item.alias ?? '') !== '' || item.column_names?.at(-1) === name;
    return { item, type: isSame ? type : undefined };
  }

  #groupColumns(outputs: readonly ResultPosition[]): ResultColumns | undefined {
    const items = (this.#ast.select_list ?? []).map((item, i): ResultItem => {
      const position = outputs[i];
      const key = this.#keys.at(position);
      if (position >= this.#keys.length || key === undefined) return { item, type: this.#typeAt(position) };
      return key.kind === 'tag' ? this.#columnItem(item) : { item, type: timesType(this.#expressions.unitOf(item)) };
    });
    return resultColumns(items, this.#planned.nameMarker);
  }

  /** Returns what selects the newest rows by tags: the condition, or `DISTINCT ON (tag) .. ORDER BY tag, ts DESC`. */
  #newest(): NewestRows | undefined {
    const distinct = this.#ast.modifiers?.find(({ type }) => type === 'DISTINCT_MODIFIER');
    if (distinct === undefined) {
      return this.#newestTags && { tags: this.#newestTags, excludesNulls: true, isSingle: false };
    }
    const tags = distinct.distinct_on_targets?.map((target) => this.#columnOf(target)) ?? [];
    const orders = ordersOf(this.#ast);
    const sorted = orders.map(({ expression }) => this.#columnOf(this.#named(expression, true)));
    const isNewest = sorted.at(-1)?.kind === 'time' && orders.at(-1)?.type === 'DESCENDING';
    const known = tags.filter((tag, i): tag is Column => isTextTag(tag) && sorted[i]?.id === tag.id);
    const isByTags = known.length > 0 && known.length === tags.length && sorted.length === tags.length + 1;
    if (this.#newestTags !== undefined || !isByTags || !isNewest) {
      throw new NotForKernels('DISTINCT does not select the newest rows by tags');
    }
    return { tags: known, excludesNulls: false, isSingle: true };
  }

  /** Reports whether a select item is all columns of the table. */
  #isWholeRow(item: Ast): boolean {
    const { alias = '', table_name: name = '' } = this.#from;
    const { relation_name: qualifier = '' } = item;
    const isOfTable =
      qualifier === '' ? this.#from === this.#ast.from_table : qualifier === (alias === '' ? name : alias);
    return isPlainStar(item) && isOfTable;
  }

  #output(node: Ast): Column {
    const column = this.#columnOf(node);
    if (column === undefined) throw unsupportedItem(node);
    return column;
  }

  #conditions(node: Ast | undefined): PlanCondition[] {
    if (node === undefined) return [];
    if (node.class === 'CONJUNCTION' && node.type === 'CONJUNCTION_AND') {
      return (node.children ?? []).flatMap((child) => this.#conditions(child));
    }
    return kernelCondition(node, this.#expressions);
  }

  #readKeys(): void {
    const items = this.#ast.select_list ?? [];
    const groups = this.#ast.group_expressions ?? [];
    const { group_sets: sets = [], aggregate_handling: handling } = this.#ast as SelectDetails;
    if (sets.length > 1 || (sets[0] ?? []).length !== groups.length) throw new NotForKernels('grouping sets');
    if (handling === 'FORCE_AGGREGATES') {
      for (const item of items) if (this.#aggregatesIn(item).length === 0) this.#addKey(item);
    } else if (handling !== 'STANDARD_HANDLING') {
      throw new NotForKernels(`GROUP BY ${handling ?? ''}`);
    }
    for (const group of groups) this.#addKey(this.#named(group, false));
  }

  #addKey(node: Ast): void {
    const key = this.#keyOf(node);
    if (key === undefined) throw new NotForKernels('GROUP BY has more than tags and time buckets');
    if (this.#keys.some((other) => areSameKeys(other, key))) return;
    if (key.kind === 'bucket' && this.#keys.some(({ kind }) => kind === 'bucket')) {
      throw new NotForKernels('GROUP BY has several time buckets');
    }
    this.#keys.push(key);
  }

  /** Returns the select item that a group or a member of ORDER BY names by alias or position; otherwise the node itself. */
  #named(node: Ast, prefersAlias: boolean): Ast {
    const items = this.#ast.select_list ?? [];
    const literal = this.#expressions.literalOf(node);
    if (literal !== undefined) {
      const { value } = literal.in(this.#planned);
      this.#hasSamePositions.push((run) => literal.in(run).value === value);
      const item = Number(value) > 0 ? items.at(Number(value) - 1) : undefined;
      if (literal.kind !== 'integer' || item === undefined) throw new NotForKernels('a position names no column');
      return item;
    }
    if (node.class !== 'COLUMN_REF' || node.column_names?.length !== 1) return node;
    if (!prefersAlias && this.#columnOf(node) !== undefined) return node;
    const name = node.column_names[0].toLowerCase();
    const named = items.filter(({ alias = '' }) => alias.toLowerCase() === name);
    if (named.length > 1) throw new NotForKernels(`several columns have the name "${name}"`);
    return named.at(0) ?? node;
  }

  #keyOf(node: Ast): GroupKey | undefined {
    const column = this.#columnOf(node);
    if (column?.kind === 'tag' && column.type === 'String') return { kind: 'tag', tag: column };
    const bucket = this.#expressions.bucketOf(node);
    if (bucket === undefined || this.#columnOf(bucket.time)?.kind !== 'time') return undefined;
    const unitNs = UNIT_NS[this.#unit];
    const { stepNs, originNs } = bucket;
    if (stepNs % unitNs !== 0n || originNs % unitNs !== 0n || stepNs / unitNs > STEP_MAX) return undefined;
    return { kind: 'bucket', buckets: { step: stepNs / unitNs, origin: originNs / unitNs } };
  }

  #columnOf(node: Ast): Column | undefined {
    return this.#expressions.columnOf(node)?.output?.column;
  }

  /** Adds the aggregates of all clauses, so that the positions of the expressions over them are known. */
  #readAggregates(): void {
    const { select_list: items = [], having } = this.#ast;
    const orders = ordersOf(this.#ast).map(({ expression }) => expression);
    for (const node of [...items, ...(having ? [having] : []), ...orders]) {
      for (const aggregate of this.#aggregatesIn(node)) {
        if (this.#indexOf(aggregate) === -1) this.#aggregates.push(aggregate);
      }
    }
  }

  #aggregatesIn(node: Ast, found: Aggregate[] = []): readonly Aggregate[] {
    const aggregate = this.#aggregateOf(node);
    if (aggregate === undefined) {
      mapChildren(node, (child) => {
        this.#aggregatesIn(child, found);
        return child;
      });
    } else {
      found.push(aggregate);
    }
    return found;
  }

  #indexOf({ name, field, range }: Aggregate): number {
    return this.#aggregates.findIndex((it) => {
      return it.name === name && it.field?.id === field?.id && it.range?.number === range?.number;
    });
  }

  /** Returns the position of a key, an aggregate, or an expression over aggregates; a new expression is added. */
  #position(node: Ast): ResultPosition {
    const aggregate = this.#aggregateOf(node);
    if (aggregate !== undefined) return this.#keys.length + this.#indexOf(aggregate);
    const key = this.#keyOf(node);
    const at = key === undefined ? -1 : this.#keys.findIndex((other) => areSameKeys(other, key));
    if (at !== -1) return at;
    const known = this.#arithmeticAt.get(node);
    if (known !== undefined) return known;
    const isOfAggregates = this.#aggregatesIn(node).length > 0;
    const arithmetic = isOfAggregates ? kernelArithmetic(node, this.#arithmeticScope) : undefined;
    if (arithmetic === undefined) throw unsupportedItem(node);
    const position = this.#keys.length + this.#aggregates.length + this.#arithmetic.push(arithmetic) - 1;
    this.#arithmeticAt.set(node, position);
    return position;
  }

  #aggregateOf(node: Ast): Aggregate | undefined {
    const edge = this.#edgeOf(node);
    if (edge !== undefined || !isPlainCall(node)) return edge;
    const { function_name: name = '', children = [] } = node;
    if (name === 'count_star' && children.length === 0) return { name: 'count', field: undefined };
    const range = this.#planned.marksRanges === true ? rangeMark(name) : undefined;
    if (range !== undefined && children.length === 1) {
      const aggregate = this.#aggregateOf(children[0]);
      if (aggregate === undefined) throw unsupportedItem(children[0]);
      return { ...aggregate, range };
    }
    const column = children.length === 1 ? this.#columnOf(children[0]) : undefined;
    return column && aggregateOfColumn(name, column);
  }

  /** Returns `first(x ORDER BY time)`, or `last`. */
  #edgeOf(node: Ast): Aggregate | undefined {
    const { function_name: name, children = [], order_bys: order } = node;
    const orders = (order?.orders ?? []) as readonly OrderDetails[];
    if ((name !== 'first' && name !== 'last') || orders.length !== 1 || children.length !== 1) return undefined;
    const field = this.#columnOf(children[0]);
    const isByTime = this.#columnOf(orders[0].expression)?.kind === 'time';
    const isPlain = isPlainCall({ ...node, order_bys: { type: 'ORDER_MODIFIER', orders: [] } });
    if (!isPlain || !isByTime || field?.kind !== 'field' || !isNumeric(field.type)) return undefined;
    const isLast = (name === 'last') !== (orders[0].type === 'DESCENDING');
    return { name: isLast ? 'last' : 'first', field };
  }

  #having(node: Ast | undefined): ForRun<ResultCondition>[] {
    if (node === undefined) return [];
    if (node.class === 'CONJUNCTION' && node.type === 'CONJUNCTION_AND') {
      return (node.children ?? []).flatMap((child) => this.#having(child));
    }
    const { left, right } = node;
    if (node.class !== 'COMPARISON' || left === undefined || right === undefined) {
      throw new NotForKernels('HAVING is no comparison');
    }
    if (this.#expressions.literalOf(left) !== undefined) throw new NotForKernels('HAVING compares a constant');
    const position = this.#position(this.#named(left, false));
    const isTime = this.#aggregates.at(position - this.#keys.length)?.field?.kind === 'time';
    const isNumber = position >= this.#keys.length && !isTime;
    const bind = isNumber ? numberCondition(node.type, right, this.#typeAt(position), this.#expressions) : undefined;
    if (bind === undefined) throw new NotForKernels('HAVING compares more than aggregates with numbers');
    return [(run) => ({ ...bind(run), position })];
  }

  /** Returns the native type of an aggregate or an expression. */
  #typeAt(position: ResultPosition): string {
    const at = position - this.#keys.length;
    const isAggregate = at < this.#aggregates.length;
    return isAggregate ? aggregateType(this.#aggregates[at]) : this.#arithmetic[at - this.#aggregates.length].type;
  }
}

function checkPositions(areSame: readonly ForRun<boolean>[], run: RunValues): void {
  if (!areSame.every((check) => check(run))) throw new NotForKernels('positions differ from those of the plan');
}

function isTextTag(column: Column | undefined): column is Column {
  return column?.kind === 'tag' && column.type === 'String';
}

function areSameKeys(a: GroupKey, b: GroupKey): boolean {
  if (a.kind === 'tag' || b.kind === 'tag') return a.kind === 'tag' && b.kind === 'tag' && a.tag.id === b.tag.id;
  return a.buckets.step === b.buckets.step && a.buckets.origin === b.buckets.origin;
}
