import { dataType, type TimeUnit } from '#shared/schema/data-type';

/** What is known of an expression's type before the engine sees it: a timestamp's unit, or the kind of a number. */
export type KnownType = TimeUnit | 'int' | 'float';

/** Returns what is known of a column with this native type. */
export function knownTypeOf(nativeName: string): KnownType | undefined {
  const { timeUnit, storage } = dataType(nativeName);
  if (timeUnit !== undefined) return timeUnit;
  if (nativeName.startsWith('Int') || nativeName.startsWith('UInt')) return 'int';
  return storage === 'float64' || storage === 'float32' ? 'float' : undefined;
}

/** Operators whose result is a float if one operand is. */
export const ARITHMETIC: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%']);

/** Engine types that a cast may name. */
export const CAST_TYPES: Readonly<Partial<Record<string, KnownType>>> = {
  TINYINT: 'int',
  SMALLINT: 'int',
  INTEGER: 'int',
  BIGINT: 'int',
  HUGEINT: 'int',
  UTINYINT: 'int',
  USMALLINT: 'int',
  UINTEGER: 'int',
  UBIGINT: 'int',
  FLOAT: 'float',
  DOUBLE: 'float',
};

const words = (text: string): Set<string> => new Set(text.split(' '));

/** Functions whose result has the type of their first argument. */
const KEEPS_TYPE = words(
  'min max first last any_value arbitrary arg_min arg_max argmin argmax min_by max_by arg_min_null arg_max_null ' +
    'lag lead first_value last_value nth_value greatest least nullif mode sum abs',
);
const GIVES_INT = words(
  'count count_star count_if countif length len char_length character_length strlen strpos instr position bit_length ascii unicode ord ' +
    'epoch_ns epoch_us epoch_ms date_part datepart date_diff datediff year month day hour minute second week dayofweek dayofyear isodow quarter ' +
    'row_number rank dense_rank ntile approx_count_distinct list_count cardinality array_length regr_count factorial gcd lcm sign bit_count',
);
const GIVES_FLOAT = words(
  'avg mean stddev stddev_samp stddev_pop var_samp var_pop variance corr covar_samp covar_pop sqrt cbrt exp ln log log2 log10 pow power pi sin cos tan ' +
    'asin acos atan atan2 sinh cosh tanh degrees radians random epoch regr_slope regr_intercept regr_r2 quantile_cont kurtosis skewness entropy',
);

/** Returns the type of a function's result. @param first type of its first argument. */
export function resultType(name: string, first: KnownType | undefined): KnownType | undefined {
  if (KEEPS_TYPE.has(name)) return first;
  if (GIVES_INT.has(name)) return 'int';
  return GIVES_FLOAT.has(name) ? 'float' : undefined;
}
