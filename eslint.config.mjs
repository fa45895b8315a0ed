import jsdoc from 'eslint-plugin-jsdoc';
import tseslint from 'typescript-eslint';

const banned = (selector, message) => ({ selector, message });
const noClock = [
  banned('CallExpression[callee.object.name="Date"][callee.property.name="now"]', 'use shared/clock'),
  banned('CallExpression[callee.name=/^(setTimeout|setInterval|setImmediate)$/]', 'use shared/clock or a Loop'),
  banned('CallExpression[callee.object.name="Math"][callee.property.name="random"]', 'use shared/clock/random'),
];
const noEnvironment = banned(
  'MemberExpression[object.name="process"][property.name="env"]',
  'read it by shared/config/env',
);
const noDefaultExport = banned('ExportDefaultDeclaration', 'export a name');
const noBareError = banned(
  'ThrowStatement > NewExpression[callee.name="Error"]',
  'throw AlmanacError or call invariant()',
);
const fsDoor = ['node:fs', 'node:fs/promises', 'fs', 'fs/promises'].map((name) => ({ name, message: 'use shared/fs' }));

// Named, where a service would find them for each file: that takes a fifth longer. Tests import files of the app, whose
// types need the libraries of its own project: it goes first.
const projects = ['services/gateway/dashboard/app/tsconfig.json', 'tsconfig.json'];

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'node_modules/**',
      '**/*.mjs',
      '**/*.cjs',
      'shared/contracts/gen/**',
      'shared/wasm/assembly/**',
    ],
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: projects } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 5],
      'max-depth': ['error', 4],
      complexity: ['error', 15],
      eqeqeq: 'error',
      curly: ['error', 'multi-line'],
      'no-console': 'error',
      'prefer-const': 'error',
      'no-param-reassign': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // Loops over typed arrays need the index.
      '@typescript-eslint/prefer-for-of': 'off',
      // Index access is not checked by the compiler (noUncheckedIndexedAccess is off), so what it takes for
      // certain is not: a lookup may well be undefined.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      // `async () => void (await x)` says that the result is not wanted.
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      // Libraries type their values by classes that our structurally equal values did not come from.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-syntax': ['error', noDefaultExport, noEnvironment, noBareError, ...noClock],
      'no-restricted-imports': ['error', { paths: fsDoor }],
    },
  },
  {
    files: ['shared/clock/*.ts'],
    rules: { 'no-restricted-syntax': ['error', noDefaultExport, noEnvironment, noBareError] },
  },
  {
    files: ['shared/config/env.ts'],
    rules: { 'no-restricted-syntax': ['error', noDefaultExport, noBareError, ...noClock] },
  },
  {
    files: ['services/**/*.{ts,tsx}', 'shared/**/*.ts'],
    plugins: { jsdoc },
    rules: {
      'jsdoc/require-jsdoc': [
        'error',
        {
          publicOnly: true,
          enableFixer: false,
          require: { ArrowFunctionExpression: true, ClassDeclaration: true, FunctionDeclaration: true },
          contexts: [
            'TSInterfaceDeclaration',
            'TSTypeAliasDeclaration',
            'ExportNamedDeclaration > VariableDeclaration',
          ],
        },
      ],
    },
  },
  { files: ['shared/fs/*.ts'], rules: { 'no-restricted-imports': 'off' } },
  {
    // Code of the browser, which has its own clock, timers and errors.
    files: ['services/gateway/dashboard/app/**/*.{ts,tsx}'],
    rules: {
      'no-restricted-syntax': [
        'error',
        noDefaultExport,
        banned('MemberExpression[property.name=/^(inner|outer)HTML$/]', 'texts of the server are text nodes'),
        banned('JSXAttribute[name.name="dangerouslySetInnerHTML"]', 'texts of the server are text nodes'),
      ],
      // Components return elements.
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/no-confusing-void-expression': 'off',
    },
  },
  {
    // A component is its markup, which is long and simple.
    files: ['services/gateway/dashboard/app/**/*.tsx'],
    rules: { 'max-lines-per-function': ['error', { max: 110, skipBlankLines: true, skipComments: true }] },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // A suite is one function.
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-unused-expressions': 'off',
      'no-restricted-imports': 'off',
      'no-restricted-syntax': [
        'error',
        noDefaultExport,
        banned('CallExpression[callee.name="setTimeout"]', 'wait on a condition'),
        banned(
          'MemberExpression[object.name=/^(describe|it)$/][property.name=/^(only|skip)$/]',
          'no focused or skipped tests',
        ),
      ],
    },
  },
  // Programs for people at a terminal: their output is the console.
  { files: ['test/bench/**/*.ts'], rules: { 'no-console': 'off', 'no-restricted-syntax': ['error', noDefaultExport] } },
);
