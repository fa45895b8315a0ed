import type { Grouping, LabelCondition, PipelineStage, Unwrap } from '../syntax/ast.js';

/**
 * Returns the names of all labels that stages, an unwrapped label and a grouping read, so that parsers can leave out the
 * others; undefined if these are unknown: templates and series without a grouping by names read any label.
 */
export function wantedLabels(
  stages: readonly PipelineStage[],
  unwrap: Unwrap | undefined,
  grouping: Grouping | undefined,
): ReadonlySet<string> | undefined {
  if (grouping === undefined || grouping.isWithout) return undefined;
  const names = new Set(grouping.labels);
  if (unwrap !== undefined) {
    names.add(unwrap.label);
    for (const { condition } of unwrap.filters) addNames(condition, names);
  }
  for (const stage of stages) {
    if (stage.kind === 'line_format' || stage.kind === 'label_format') return undefined;
    if (stage.kind === 'label_filter') addNames(stage.condition, names);
    if (stage.kind === 'drop' || stage.kind === 'keep') for (const { name } of stage.labels) names.add(name);
  }
  return names;
}

function addNames(condition: LabelCondition, names: Set<string>): void {
  switch (condition.kind) {
    case 'and':
    case 'or':
      addNames(condition.left, names);
      addNames(condition.right, names);
      return;
    case 'text':
      names.add(condition.matcher.name);
      return;
    default:
      names.add(condition.name);
  }
}
