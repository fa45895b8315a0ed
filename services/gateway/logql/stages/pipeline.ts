import { compileLineTemplate } from '../template/template.js';
import type { LabelChoiceStage, LabelFormatStage, PipelineStage } from '../syntax/ast.js';
import { logqlRuleError } from '../syntax/error.js';
import { compileLabelCondition, textTest } from './label-condition.js';
import { lineFilter } from './line-filter.js';
import type { LineStage } from '../line/pipeline-line.js';
import { jsonStage, logfmtStage, patternStage, regexpStage, unpackStage } from './parsers.js';
import { ERROR_DETAILS_LABEL, ERROR_LABEL } from '../line/row-labels.js';

/** Compiles the stages of a pipeline. @throws `invalid_syntax`. */
export function compileStages(stages: readonly PipelineStage[]): readonly LineStage[] {
  return stages.map(compileStage);
}

/** Colours of terminals. */
const COLOURS = /\u001b\[[\d;]*[A-Za-z]/g;

function compileStage(stage: PipelineStage): LineStage {
  switch (stage.kind) {
    case 'line_filter':
      return lineFilter(stage);
    case 'json':
      return jsonStage(stage.extractions);
    case 'logfmt':
      return logfmtStage(stage.extractions, stage);
    case 'pattern':
      return patternStage(stage.text);
    case 'regexp':
      return regexpStage(stage.text);
    case 'unpack':
      return unpackStage();
    case 'label_filter': {
      const test = compileLabelCondition(stage.condition);
      return ({ labels }) => test(labels);
    }
    case 'line_format':
      return lineFormat(stage.template);
    case 'label_format':
      return labelFormat(stage);
    case 'drop':
      return drop(stage);
    case 'keep':
      return keep(stage);
    case 'decolorize':
      return (line) => {
        line.text = line.text.replaceAll(COLOURS, '');
        return true;
      };
  }
}

function lineFormat(text: string): LineStage {
  const template = compileLineTemplate(text);
  return (line) => {
    const out = template(line);
    if (typeof out === 'string') line.text = out;
    else line.labels.fail('TemplateFormatErr', out.error);
    return true;
  };
}

function labelFormat({ assignments }: LabelFormatStage): LineStage {
  const names = new Set<string>();
  for (const { name } of assignments) {
    if (name === ERROR_LABEL || name === ERROR_DETAILS_LABEL) throw logqlRuleError(`${name} cannot be formatted`);
    if (names.has(name)) throw logqlRuleError(`multiple label name '${name}' not allowed in a single format operation`);
    names.add(name);
  }
  const steps = assignments.map(({ name, from }): LineStage => {
    if ('label' in from) {
      return ({ labels }) => {
        const value = labels.find(from.label);
        if (value === undefined) return true;
        labels.set(name, value);
        if (from.label !== name) labels.remove(from.label);
        return true;
      };
    }
    const template = compileLineTemplate(from.template);
    return (line) => {
      const out = template(line);
      if (typeof out === 'string') line.labels.set(name, out);
      else line.labels.fail('TemplateFormatErr', out.error);
      return true;
    };
  });
  return (line) => {
    for (const step of steps) step(line);
    return true;
  };
}

function drop({ labels: choices }: LabelChoiceStage): LineStage {
  const tests = choices.map(({ name, matcher }) => ({
    name,
    test: matcher === undefined ? undefined : textTest(matcher),
  }));
  return ({ labels }) => {
    for (const { name, test } of tests) if (test === undefined || test(labels.get(name))) labels.remove(name);
    return true;
  };
}

function keep({ labels: choices }: LabelChoiceStage): LineStage {
  const tests = choices.map(({ name, matcher }) => ({
    name,
    test: matcher === undefined ? undefined : textTest(matcher),
  }));
  return ({ labels }) => {
    for (const [name, value] of labels.sorted()) {
      const isKept = tests.some((it) => it.name === name && (it.test?.(value) ?? true));
      if (!isKept && name !== ERROR_LABEL && name !== ERROR_DETAILS_LABEL) labels.remove(name);
    }
    return true;
  };
}
