import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { Compartment, EditorState, Prec, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useLayoutEffect, useRef } from 'preact/hooks';

import { colourCount, isDark } from '../style/theme.js';

/** A fault at a place of the text, in UTF-16 units from the start. */
export interface EditorFault {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

/** What an editor shows, and what it reports. */
export interface EditorProps {
  /** What the text is, for those who cannot see the field. */
  readonly label: string;
  readonly text: string;
  readonly onChange: (text: string) => void;
  /** Language and completion; a new value replaces the last one. */
  readonly language: Extension;
  readonly faults?: readonly EditorFault[];
  readonly hint?: string;
  /** Keys of the screen: each returns whether it acted. */
  readonly keys?: readonly { readonly key: string; readonly run: (place: EditorPlace) => boolean }[];
  /** Whether line numbers are shown. */
  readonly hasLines?: boolean;
  readonly isReadOnly?: boolean;
}

/** The cursor and the selection, in UTF-16 units from the start of the text. */
export interface EditorPlace {
  readonly text: string;
  readonly cursor: number;
  readonly from: number;
  readonly to: number;
  readonly isFirstLine: boolean;
  readonly isLastLine: boolean;
}

/**
 * A text editor. It is in a shadow root, where its styles are allowed by the content security policy, which refuses the
 * `<style>` element that it would add to the document.
 */
export function Editor(props: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const language = useRef(new Compartment()).current;
  const theme = useRef(new Compartment()).current;
  const access = useRef(new Compartment()).current;

  useLayoutEffect(() => {
    if (host.current === null) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
    const state = EditorState.create({
      doc: latest.current.text,
      extensions: [
        Prec.highest(screenKeys(latest)),
        latest.current.hasLines === false ? [] : lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        autocompletion({ icons: false, maxRenderedOptions: 60 }),
        lintGutter(),
        placeholder(latest.current.hint ?? ''),
        EditorView.lineWrapping,
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap]),
        tabAfterTyping(),
        language.of(latest.current.language),
        theme.of(themeOf()),
        access.of(accessOf(latest.current)),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) latest.current.onChange(update.state.doc.toString());
        }),
      ],
    });
    const created = new EditorView({ state, parent: root, root });
    view.current = created;
    return () => created.destroy();
  }, []);

  useLayoutEffect(() => {
    const editor = view.current;
    if (editor === undefined || editor.state.doc.toString() === props.text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: props.text } });
  }, [props.text]);
  useLayoutEffect(() => view.current?.dispatch({ effects: language.reconfigure(props.language) }), [props.language]);
  useLayoutEffect(() => view.current?.dispatch({ effects: theme.reconfigure(themeOf()) }), [colourCount.value]);
  useLayoutEffect(
    () => view.current?.dispatch({ effects: access.reconfigure(accessOf(props)) }),
    [props.label, props.isReadOnly],
  );
  useLayoutEffect(() => {
    const editor = view.current;
    if (editor === undefined) return;
    const { length } = editor.state.doc;
    const diagnostics = (props.faults ?? []).map((fault): Diagnostic => {
      const from = Math.min(fault.from, length);
      return { from, to: Math.max(from, Math.min(fault.to, length)), message: fault.message, severity: 'error' };
    });
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
  }, [props.faults]);
  return <div ref={host} class="editor" />;
}

/** Lets Tab indent once something was typed: whoever passes through the editor by Tab is not held there. Escape ends it. */
function tabAfterTyping(): Extension {
  let hasTyped = false;
  return [
    EditorView.domEventHandlers({ focus: () => void (hasTyped = false) }),
    EditorView.updateListener.of(({ transactions }) => {
      if (transactions.some((transaction) => transaction.isUserEvent('input'))) hasTyped = true;
    }),
    keymap.of([
      { key: 'Tab', run: (view) => hasTyped && indentMore(view) },
      { key: 'Shift-Tab', run: (view) => hasTyped && indentLess(view) },
      {
        key: 'Escape',
        run: () => {
          hasTyped = false;
          return false;
        },
      },
    ]),
  ];
}

function screenKeys(latest: { readonly current: EditorProps }): Extension {
  const known = latest.current.keys ?? [];
  return keymap.of(
    known.map(({ key }) => ({
      key,
      run: (view: EditorView): boolean => {
        const binding = latest.current.keys?.find((other) => other.key === key);
        return binding?.run(placeOf(view)) ?? false;
      },
    })),
  );
}

function placeOf({ state }: EditorView): EditorPlace {
  const { main } = state.selection;
  const line = state.doc.lineAt(main.head).number;
  return {
    text: state.doc.toString(),
    cursor: main.head,
    from: main.from,
    to: main.to,
    isFirstLine: line === 1,
    isLastLine: line === state.doc.lines,
  };
}

function accessOf({ label, isReadOnly = false }: EditorProps): Extension {
  return [
    // Editable text has the focus without it, but what reads a page aloud looks for it in a place that scrolls.
    EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
    EditorState.readOnly.of(isReadOnly),
    EditorView.editable.of(!isReadOnly),
  ];
}

/** Colours are variables of the page, which reach into the shadow root. */
function themeOf(): Extension {
  const dark = isDark();
  const look = EditorView.theme(
    {
      '&': { color: 'var(--text)', backgroundColor: 'var(--raised)', fontSize: '14px' },
      '&.cm-focused': { outline: '2px solid var(--accent)' },
      '.cm-scroller': { fontFamily: 'var(--mono)', maxHeight: '40vh', minHeight: '5em', overflow: 'auto' },
      '.cm-content': { caretColor: 'var(--text)' },
      '.cm-cursor': { borderLeftColor: 'var(--text)' },
      '.cm-gutters': { color: 'var(--dim)', backgroundColor: 'var(--panel)', borderRight: '1px solid var(--line)' },
      '.cm-activeLine': { backgroundColor: 'transparent' },
      '&.cm-focused .cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent-back) 45%, transparent)' },
      '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
        backgroundColor: 'var(--mark)',
      },
      '.cm-placeholder': { color: 'var(--dim)' },
      '.cm-tooltip': { color: 'var(--text)', backgroundColor: 'var(--raised)', border: '1px solid var(--edge)' },
      '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
        color: 'var(--text)',
        backgroundColor: 'var(--accent-back)',
      },
      '.cm-completionDetail': { color: 'var(--dim)', fontStyle: 'normal', marginLeft: '1em' },
      '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
    },
    { dark },
  );
  return [look, syntaxHighlighting(dark ? DARK : LIGHT)];
}

/** The default of the editor has colours with too little contrast. */
const LIGHT = HighlightStyle.define([
  { tag: tags.keyword, color: '#7a1fa2' },
  { tag: [tags.string, tags.special(tags.string)], color: '#a31515' },
  { tag: [tags.escape, tags.regexp], color: '#9c3a00' },
  { tag: [tags.number, tags.bool, tags.null], color: '#0f6b3c' },
  { tag: tags.comment, color: '#6b5a3a', fontStyle: 'italic' },
  { tag: [tags.function(tags.variableName), tags.standard(tags.name)], color: '#1d4fa8' },
  { tag: [tags.propertyName, tags.labelName, tags.attributeName], color: '#00636b' },
  { tag: tags.typeName, color: '#7a5200' },
  { tag: tags.invalid, color: '#b3261e' },
]);

const DARK = HighlightStyle.define([
  { tag: tags.keyword, color: '#c39bf5' },
  { tag: [tags.string, tags.special(tags.string)], color: '#9ad17b' },
  { tag: [tags.escape, tags.regexp], color: '#e7c66b' },
  { tag: [tags.number, tags.bool, tags.null], color: '#f0b37a' },
  { tag: tags.comment, color: '#a3acb9', fontStyle: 'italic' },
  { tag: [tags.function(tags.variableName), tags.standard(tags.name)], color: '#7cc0ff' },
  { tag: [tags.propertyName, tags.labelName, tags.attributeName], color: '#7fd6d0' },
  { tag: tags.typeName, color: '#e7c66b' },
  { tag: tags.invalid, color: '#ff9d94' },
]);
