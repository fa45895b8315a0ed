import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('types and functions of SQL', () => {
  let bench: SqlBench;
  before(async () => {
    bench = await SqlBench.open();
    await bench.all(`
      CREATE TABLE jsons (id INT, j JSON, ts TIMESTAMP TIME INDEX, PRIMARY KEY (id));
      INSERT INTO jsons VALUES
        (1, '{"a": {"b": 1}, "z": [1, 2, 3], "k": "text"}', 0), (2, '{"a": {"b": true}}', 0),
        (3, '{"a": {"b": 1.5}}', 0), (4, '{"a": {"b": "12"}}', 0), (5, '{"a": null}', 0), (6, NULL, 0);
      CREATE TABLE decimals (d DECIMAL(18, 1), ts TIMESTAMP TIME INDEX);
      INSERT INTO decimals VALUES (99000000000000000.0, 0);
      CREATE TABLE states (g INT, u BINARY, h BINARY, ts TIMESTAMP TIME INDEX, PRIMARY KEY (g));
      INSERT INTO states SELECT i % 10, uddsketch_state(128, 0.01, i), hll(i), 0 FROM range(1, 5001) t(i) GROUP BY i % 10;
      CREATE TABLE points (v DOUBLE, ts TIMESTAMP TIME INDEX);
      CREATE TABLE vectors (id INT, v VECTOR(3) DEFAULT '[1.0, 2.0, 3.0]', ts TIMESTAMP TIME INDEX, PRIMARY KEY (id));
      INSERT INTO vectors VALUES (1, '[1, 2.5, -3]', 0), (2, parse_vec('[4.0, 5.0, 6.0]'), 0), (3, DEFAULT, 0), (4, NULL, 0);
      CREATE TABLE objects (j JSON2, ts TIMESTAMP TIME INDEX) WITH (append_mode = 'true');
      INSERT INTO objects VALUES ('{"a": {"b": 1}, "kind": "x"}', 1), ('{"a": {"b": 2}, "kind": "y"}', 2);
      INSERT INTO points VALUES (10, 1), (11, 2), (10, 3), (11, 4), (100, 5), (NULL, 6)`);
  });
  after(() => bench.close());

  /** Checks the first row: `expression` on the left, its value on the right. */
  const values = (title: string, cases: readonly (readonly [string, unknown])[], from = ''): void => {
    describe(title, () => {
      for (const [expression, expected] of cases) {
        it(expression, async () => {
          const { rows } = await bench.query(`SELECT ${expression} ${from}`);
          expect(rows[0][0]).to.deep.equal(expected);
        });
      }
    });
  };
  const rows = (text: string, expected: unknown[][]): void => {
    it(text.trim().replaceAll(/\s+/g, ' '), async () => {
      expect((await bench.query(text)).rows).to.deep.equal(expected);
    });
  };
  const fails = (text: string, number: number, message: RegExp): void => {
    it(`refuses ${text}`, async () => {
      const error = await bench.error(text);
      expect(error.number, error.message).to.equal(number);
      expect(error.message).to.match(message);
    });
  };

  values('casts', [
    ['1.9::INT', 1],
    ['(-1.9)::INT', -1],
    ["'3.7'::DECIMAL(3, 1)::BIGINT", 3],
    ["'1.5'::DECIMAL", '1.5000000000'],
    ['300::SMALLINT UNSIGNED', 300],
    ['12::UINT8', 12],
    ["'\\xAA'::BYTEA", [92, 120, 65, 65]],
    ["X'6162'::STRING", 'ab'],
    ["'2024-01-01 00:00:01.9'::TIMESTAMP::TIMESTAMP(0)", 1_704_067_201],
    ["arrow_cast('12', 'Int64')", 12],
    ["arrow_typeof('0.1'::DECIMAL(2, 1) * '10.0'::DECIMAL(3, 1))", 'Decimal128(6, 2)'],
    ['arrow_typeof(1)', 'Int64'],
    ['arrow_typeof(now()::TIMESTAMP)', 'Timestamp(ms)'],
    ["INTERVAL 'P1DT2H'", '26 hours'],
    ["'-P1D'::INTERVAL", '-24 hours'],
    ["'1 day 1500000 ns'::INTERVAL", '1 days 0.001500 secs'],
  ]);

  describe('types', () => {
    rows('SELECT 2 * d FROM decimals', [['198000000000000000.0']]);
    rows('SELECT sum(d), avg(d / 1e16::DECIMAL(18, 1)) FROM decimals', [['99000000000000000.0', 9.9]]);
    rows("SELECT avg('1.5'::DECIMAL(4, 1))", [['1.50000']]);
    rows('SELECT median(i) FROM (VALUES (4), (5)) t(i)', [[4]]);
    fails('SELECT -128::DECIMAL(9, 0)::TINYINT', 3001, /cast/);
    fails('SELECT 1 IS DISTINCT FROM 1e400', 2000, /number is out of range/);
    fails('SELECT max(v) EXPORT_STATE FROM points', 1001, /EXPORT_STATE is not supported/);
    fails(
      "SELECT date_trunc('hour', ts, 'Asia/Kolkata'), count(*) FROM points GROUP BY 1",
      3000,
      /takes 2 arguments, got 3/,
    );
    fails("SELECT ceil('999.9'::DECIMAL(4, 1))", 3001, /out of range/);
    fails("SELECT INTERVAL '6 years' * 2", 3000, /Invalid interval arithmetic/);
    fails("SELECT '90000-01-19 03:14:07'::TIMESTAMP_US::TIMESTAMP_NS", 3001, /out of the range/);
    fails("SELECT arrow_cast(1, 'Tensor')", 3000, /Unsupported type 'Tensor'/);

    it('names a cast by its operand', async () => {
      const { columns } = await bench.query('SELECT d::STRING, NULL::INT FROM decimals');
      expect(columns.map(({ name }) => name)).to.deep.equal(['decimals.d', 'NULL']);
    });
  });

  describe('JSON values', () => {
    const all = (expression: string, expected: unknown[]): void => {
      rows(
        `SELECT ${expression} FROM jsons ORDER BY id`,
        expected.map((value) => [value]),
      );
    };
    all("json_get_int(j, 'a.b')", [1, 1, null, 12, null, null]);
    all('json_get_float(j, \'$.a["b"]\')', [1, 1, 1.5, 12, null, null]);
    all("json_get_bool(j, 'a:b')", [null, true, null, null, null, null]);
    all("json_get_string(j, 'a.b')", ['1', 'true', '1.5', '12', null, null]);
    all("json_get_string(j, 'a')", [null, null, null, null, null, null]);
    all("json_get(j, 'a')", ['{"b":1}', '{"b":true}', '{"b":1.5}', '{"b":"12"}', null, null]);
    all("json_get(j, 'a.b')::DOUBLE", [1, 1, 1.5, 12, null, null]);
    all("json_get(j, 'a.b') + 1", [2, 2, null, 13, null, null]);
    all('j.a.b', ['1', 'true', '1.5', '12', null, null]);
    all('jsons.j.a.b = 1', [true, true, null, false, null, null]);
    all("json_get_object(j, 'a')", [{ b: 1 }, { b: true }, { b: 1.5 }, { b: '12' }, null, null]);
    all("json_path_exists(j, '$.z[last]')", [true, false, false, false, false, null]);
    all('json_to_string(j)', [
      '{"a":{"b":1},"k":"text","z":[1,2,3]}',
      ...['{"a":{"b":true}}', '{"a":{"b":1.5}}', '{"a":{"b":"12"}}', '{"a":null}', null],
    ]);

    values('paths', [
      ["json_get_int('[1, 2, 3]', '[last]')", 3],
      ["json_get_int('[1, 2, 3]', '[1 to last]')", 2],
      ['json_get_string(\'{"a": [{"x": 5}, {"x": 20}]}\', \'a?(@.x > 10 && !(@.x == 30)).x\')', '20'],
      ["json_get_string('{\"a.b\": 1}', '$[''a.b'']')", '1'],
      ["json_get('{\"a\": 1}', '')", '{"a":1}'],
      ["json_path_match('{\"b\": [1, 2, 3]}', '$.b[1 to last] >= 2')", true],
      ['json_path_match(\'{"a": "xyz"}\', \'$.a starts with "xy"\')', true],
      ["json_path_match('{\"a\": 1}', 'exists($.b) || $.a != 1')", false],
      ["json_path_match('null', '$.a == 1')", null],
    ]);
    values('kinds', [
      ["json_is_int('1')", true],
      ["json_is_float('1.5')", true],
      ["json_is_string('1')", false],
      ["json_is_null('null')", true],
      ["json_is_object('{}')", true],
      ["json_is_array('{}')", false],
      ["json_is_bool('true')", true],
      ['json_object_keys(\'{"b": 1, "a": 2}\')', ['b', 'a']],
      ["json_object_keys('[1]')", null],
      ['parse_json(\'{ "a" : [1] }\')', { a: [1] }],
      ["json_object('a', 1, 'b', NULL)", { a: 1, b: null }],
    ]);
    fails("SELECT parse_json('{')", 3001, /JSON/);
    fails("SELECT json_path_exists('{}', '$.a[')", 3001, /malformed JSON path/);
    fails("SELECT json_object('ts', now())", 3001, /does not support values of type/);

    it('limits the work of one path', async () => {
      const list = `'[' || array_to_string(range(2000), ',') || ']'`;
      const error = await bench.error(`SELECT json_path_exists(${list}, '$[*]?($[*] == -1)')`);
      expect(error.message).to.match(/visits more than/);
    });

    it('limits calls whose arguments multiply', async () => {
      let nested = '1';
      for (let i = 0; i < 30; i++) nested = `clamp(${nested}, 0, 1)`;
      const error = await bench.error(`SELECT ${nested}`);
      expect(error.message).to.match(/nested too deeply/);
    });
  });

  values('texts', [
    ["initcap('hello-world TEST')", 'Hello-World Test'],
    ["locate('o', 'hello world', 6)", 8],
    ["locate('x', 'hello', 2)", 0],
    ["elt(2, 'a', 'b')", 'b'],
    ["elt(0, 'a', 'b')", null],
    ["field('b', 'a', 'b')", 2],
    ["field('x', 'a', 'b')", 0],
    ["insert('Quadratic', 3, 4, 'What')", 'QuWhattic'],
    ["find_in_set('b', 'a,b,c')", 2],
    ["substr_index('www.example.org', '.', 2)", 'www.example'],
    ["substr_index('www.example.org', '.', -2)", 'example.org'],
    ["substring('hello', -1, 3)", 'h'],
    ["overlay('Txxxxas' PLACING 'hom' FROM 2 FOR 4)", 'Thomas'],
    ["'[' || space(3) || ']'", '[   ]'],
    ['format(1234567.891, 2)', '1,234,567.89'],
    ["octet_length('é')", 2],
    ["upper('straße')", 'STRASSE'],
    ["encode('abc', 'hex')", '616263'],
    ["encode('abcd', 'base64')", 'YWJjZA'],
    ["decode('YWJjZA', 'base64')", [97, 98, 99, 100]],
    ["regexp_extract('abc', 'x')", null],
    ["regexp_count('abcabc', 'b')", 2],
    ["string_to_array('a b', NULL)", ['a', ' ', 'b']],
    ["string_to_array('a,NULL', ',', 'NULL')", ['a', null]],
  ]);

  values('bytes and patterns', [
    ["hex(sha224('abc'))", '23097D223405D8228642A477BDA255B32AADBCE4BDA0B3F7E36C9DA7'],
    ["digest('abc', 'md5') = from_hex(md5('abc'))", true],
    ["regexp_match('foobar', '(o+)(b)?')", ['oo', 'b']],
    ["regexp_match('foo', 'O', 'i')", ['o']],
    ["regexp_match('foo', 'x')", null],
    ["regexp_instr('häm', 'm')", 3],
    ["rpad('a', 3) || '|'", 'a  |'],
  ]);

  values('IP addresses', [
    ["ipv4_to_cidr('192.168.1.77', 24)", '192.168.1.0/24'],
    ["ipv4_to_cidr('192.168')", '192.168.0.0/16'],
    ['ipv4_num_to_string(3232235777)', '192.168.1.1'],
    ["ipv4_string_to_num('192.168.1.1')", 3_232_235_777],
    ["ipv4_in_range('10.1.2.3', '10.0.0.0/8')", true],
    ["ipv6_to_cidr('2001:db8::')", '2001:db8::/32'],
    ["ipv6_in_range('2001:db8::1', '2001:db9::/32')", false],
    ["ipv6_num_to_string('20010db8000000000000000000000001')", '2001:db8::1'],
    ["hex(ipv6_string_to_num('::ffff:1.2.3.4'))", '00000000000000000000FFFF01020304'],
  ]);

  values('points', [
    ['geohash(37.76938, -122.3889, 9)', '9q8yygxne'],
    [
      'geohash_neighbours(37.76938, -122.3889, 11)',
      '9q8yygxnefv 9q8yygxnefu 9q8yygxnefs 9q8yygxnefk 9q8yygxnefm 9q8yygxnefq 9q8yygxnefw 9q8yygxnefy'.split(' '),
    ],
    ['geohash_neighbours(0, 180, 1)', ['z', 'y', 'w', 'q', 'r', '2', '8', 'b']],
    ['wkt_point_from_latlng(37.5, -122.25)', 'POINT(-122.25 37.5)'],
    ['json_encode_path(lat, 2.5, ts) FROM (VALUES (1.5, 2), (0.5, 1)) t(lat, ts)', '[[2.5,0.5],[2.5,1.5]]'],
  ]);

  values('sessions', [
    ['database()', 'public'],
    ['current_schema', 'public'],
    ['current_user', ''],
    ['timezone()', 'UTC'],
    ["version() LIKE 'Almanac %'", true],
    ['connection_id()', 0],
  ]);

  values('dates', [
    ["date_add('2023-12-06'::DATE, '3 month 5 day')", 19_793],
    ["date_sub('2023-12-06'::DATE, INTERVAL '1 day')", 19_696],
    ["to_timestamp_seconds('2023-01-01')", 1_672_531_200],
    ['to_unixtime(1677652502999)', 1_677_652_502],
    ['to_timestamp(1795690000)', 1_795_690_000_000_000_000],
    ['from_unixtime(-1)', -1_000_000_000],
    ['to_timestamp(1.5)', 1_500_000_000],
    ['to_timestamp(n) FROM (SELECT 1795690000::INT AS n)', 1_795_690_000_000_000_000],
    ["to_date('2023-12-06')", 19_697],
  ]);

  for (const beyond of [
    "to_timestamp(99999999999999) - INTERVAL '1 month'",
    "to_timestamp_millis(-99999999999999999999) + INTERVAL '1 month'",
    `to_timestamp(${'9'.repeat(10_000)})`,
    `${'9'.repeat(10_000)}::TIMESTAMP`,
  ]) {
    fails(`SELECT ${beyond}`, 3001, /out of the range|too many digits/);
  }

  it('shows and reads times in the time zone of the session', async () => {
    const { rows: found } = await bench.query(`SET time_zone = '+08:00';
      SELECT date_format('2023-12-06 01:02:03.123456789'::TIMESTAMP_NS, '%H:%M:%S.%f'),
        date_format('2023-12-06 01:02:03.123'::TIMESTAMP, '%H:%M:%S.%3f'), to_unixtime('1970-01-01 08:00:00')`);
    expect(found).to.deep.equal([['09:02:03.123456789', '09:02:03.123', 0]]);
    const named = "SET time_zone = 'Europe/Berlin'; SELECT date_format('2023-07-06 00:00:00'::TIMESTAMP, '%H:%M')";
    expect((await bench.query(named)).rows).to.deep.equal([['02:00']]);
  });

  values('numbers, conditions and lists', [
    ['clamp(10, 0, 1)', 1],
    ['clamp_min(10, 12)', 12],
    ['clamp_max(10.5, 10.4)', 10.4],
    ['mod(-18, 4)', -2],
    ["nvl2(NULL, 'a', 'b')", 'b'],
    ['isnull(NULL)', true],
    ['iszero(0.0)', true],
    ["nanvl('nan'::DOUBLE, 2)", 2],
    ['array_remove([1, 2, 1], 1)', [2, 1]],
    ['array_remove_all([1, 2, 1], 1)', [2]],
    ['array_replace([1, 2, 1], 1, 5)', [5, 2, 1]],
    ['array_replace_all([1, 2, 1], 1, 5)', [5, 2, 5]],
    ["array_repeat('a', 2)", ['a', 'a']],
    ['empty([])', true],
    ['array_remove_n([1, 2, 1, 1], 1, 2)', [2, 1]],
    ['array_replace_n([1, 1, 1], 1, 5, 2)', [5, 5, 1]],
    ['array_ndims([[1]])', 2],
    ["named_struct('a', 1)", { a: 1 }],
    ["get_field(named_struct('a', 1), 'a')", 1],
    ['struct(1)', { c0: 1 }],
  ]);

  describe('errors of functions', () => {
    fails('SELECT clamp(10, 1, 0)', 3001, /min '1' > max '0'/);
    fails('SELECT mod(18, 0)', 3001, /Divide by zero/);
    fails("SELECT encode('a', 'rot13')", 3001, /no built-in encoding named 'rot13'/);
    fails('SELECT clamp(1)', 3000, /takes 3 arguments, got 1/);
    fails("SELECT array_repeat('a', 1000000000)", 3001, /out of range/);
    fails("SELECT digest('a', 'crc')", 3001, /unsupported digest 'crc'/);
    fails("SELECT regexp_match('a', '(')", 3001, /invalid regular expression/);
    fails("SELECT ipv4_in_range('x', '10.0.0.0/8')", 3001, /'x' is no IPv4 address/);
    fails("SELECT ipv4_to_cidr('10.0.0.1', 33)", 3001, /not within 0 to 32/);
    fails('SELECT geohash(1, 2, 13)', 3001, /Invalid geohash resolution 13/);
    fails('SELECT geohash(91, 2, 5)', 3001, /are no point/);
    fails('SELECT space(1000000000)', 3001, /out of range/);
    for (const pattern of ['(', 'a)', '[a', '*', 'a{1001}', '\\q', '[b-a]', '\\']) {
      fails(`SELECT regexp_matches('a', '${pattern}')`, 3001, /invalid regular expression: /);
    }
    fails("SELECT almanac_json_sorted('{}')", 3000, /Invalid function/);
  });

  describe('approximate aggregates', () => {
    rows('SELECT approx_quantile(i, 0.5), approx_quantile(i, 1) FROM range(5) t(i)', [[2, 4]]);
    rows('SELECT approx_percentile_cont(0.25) WITHIN GROUP (ORDER BY i DESC) FROM range(1000) t(i)', [[749.5]]);
    rows('SELECT approx_percentile_cont(n, 0.5), approx_median(n) FROM (SELECT i::INT AS n FROM range(1000) t(i))', [
      [499, 499],
    ]);
    rows('SELECT uddsketch_calc(0.99, uddsketch_state(128, 0.01, i)) FROM range(10, 50, 10) t(i)', [
      [40.04777053326359],
    ]);
    rows('SELECT uddsketch_calc(0.0, uddsketch_state(128, 0.01, i)) FROM (VALUES (-5.0), (0.0), (7.0)) t(i)', [
      [-5.002829575110705],
    ]);

    it('merges states to the same estimate in any order', async () => {
      const states = 'SELECT uddsketch_state(128, 0.01, i) AS s, i // 60 AS n FROM range(1, 120) t(i) GROUP BY ALL';
      for (const order of ['n', 'n DESC']) {
        const merged = `SELECT uddsketch_calc(0.5, uddsketch_merge(128, 0.01, s)) FROM (${states} ORDER BY ${order})`;
        expect((await bench.query(merged)).rows).to.deep.equal([[59.74504981014512]]);
      }
    });

    it('merges stored states', async () => {
      const { rows: merged } = await bench.query(
        'SELECT uddsketch_calc(0.5, uddsketch_merge(128, 0.01, u)), hll_count(hll_merge(h)) FROM states',
      );
      const [[median, distinct]] = merged as [[number, number]];
      expect(median).to.be.within(2500 * 0.9, 2500 * 1.1);
      expect(distinct).to.be.within(5000 * 0.97, 5000 * 1.03);
    });

    rows('SELECT hll_count(hll(v)), count_hash(v) FROM points', [[3, 3]]);
    fails('SELECT uddsketch_merge(64, 0.01, u) FROM states', 3001, /different parameters/);
    fails("SELECT uddsketch_calc(0.5, X'00')", 3001, /no UDDSketch state/);
    fails("SELECT hll_count(X'00')", 3001, /no HyperLogLog state/);
    fails('SELECT uddsketch_state(0, 0.01, v) FROM points', 3001, /1 to 100000 buckets/);
  });

  describe('vectors', () => {
    it('are returned as lists of numbers under their type', async () => {
      const { columns, rows: found } = await bench.query('SELECT v FROM vectors ORDER BY id');
      expect(columns[0].type).to.equal('Vector(3)');
      expect(found).to.deep.equal([[[1, 2.5, -3]], [[4, 5, 6]], [[1, 2, 3]], [null]]);
    });
    rows('SELECT vec_to_string(v) FROM vectors WHERE id <= 2 ORDER BY id', [['[1,2.5,-3]'], ['[4,5,6]']]);
    rows("SELECT id FROM vectors WHERE v IS NOT NULL ORDER BY vec_l2sq_distance(v, '[4, 5, 7]') LIMIT 1", [[2]]);
    rows('SELECT vec_to_string(vec_sum(v)), vec_to_string(vec_avg(v)) FROM vectors WHERE id > 1', [
      ['[5,7,9]', '[2.5,3.5,4.5]'],
    ]);
    rows("SELECT vec_to_string(vec_product(v)) FROM (VALUES ('[1, 2]'), ('[3, 4]')) t(v)", [['[3,8]']]);
    values('functions of vectors', [
      ["vec_cos_distance('[1.0, 2.0]', '[0.0, 0.0]')", 1],
      ["vec_l2sq_distance(parse_vec('[1.0, 2.0]'), '[0.0, 0.0]')", 5],
      ["vec_dot_product('[1, 2]', '[3, 4]')", 11],
      ["vec_to_string(vec_scalar_add(1, '[1.0, 2.0]'))", '[2,3]'],
      ["vec_to_string(vec_scalar_mul(-0.5, '[2.0, 4.0]'))", '[-1,-2]'],
      ["vec_to_string(vec_sub('[3, 3]', '[1, 2]'))", '[2,1]'],
      ["vec_to_string(vec_div('[3, 3]', '[1, 2]'))", '[3,1.5]'],
      ["vec_to_string(vec_norm('[3, 4]'))", '[0.6,0.8]'],
      ["vec_elem_sum('[1, 2, 3]')", 6],
      ["vec_elem_product('[2, 3]')", 6],
      ["vec_elem_avg('[1, 2]')", 1.5],
      ["vec_dim('[1, 2]')", 2],
      ["vec_kth_elem('[1, 2]', 1)", 2],
      ["vec_to_string(vec_subvector('[1, 2, 3]', 1, 3))", '[2,3]'],
      ["parse_vec('[1]')", [0, 0, 128, 63]],
    ]);
    fails("INSERT INTO vectors VALUES (9, '[1.0]', 0)", 1004, /wrong dimension/);
    fails("INSERT INTO vectors VALUES (9, '1,2,3', 0)", 1004, /not properly enclosed in brackets/);
    fails("INSERT INTO vectors VALUES (9, '[1h, 2, 3]', 0)", 1004, /not all float32/);
    fails("INSERT INTO vectors VALUES (9, X'00', 0)", 1004, /1 bytes are no value of Vector\(3\)/);
    fails("SELECT vec_dot_product(v, '[1.0]') FROM vectors", 3001, /vectors length not match/);
    fails('SELECT vec_dot_product(v, 1.0) FROM vectors', 3001, /a vector is expected/);
    fails("SELECT vec_kth_elem('[1]', 1)", 3001, /index 1 is not within/);
    fails('CREATE TABLE v (v VECTOR(0), ts TIMESTAMP TIME INDEX)', 2000, /not supported yet: VECTOR\(0\)/);
  });

  describe('JSON2 columns', () => {
    it('names a path by its last key', async () => {
      const { columns } = await bench.query('SELECT j.a.b FROM objects');
      expect(columns.map(({ name }) => name)).to.deep.equal(['b']);
    });
    rows('SELECT j.kind, j.a.b + 1 FROM objects WHERE j.a.b > 1', [['y', 3]]);
    rows('SELECT o.j.a.b::BIGINT, j FROM objects o ORDER BY ts LIMIT 1', [[1, { a: { b: 1 }, kind: 'x' }]]);
    fails("INSERT INTO objects VALUES ('[1]', 3)", 1001, /Non-object json/);
    fails("INSERT INTO objects VALUES ('{}', 3)", 1004, /empty json object/);
    fails('CREATE TABLE o2 (j JSON2, ts TIMESTAMP TIME INDEX)', 1004, /requires append_mode='true'/);
    fails('ALTER TABLE points ADD COLUMN j JSON2', 1004, /requires append_mode='true'/);
  });

  describe('DISTINCT with ORDER BY', () => {
    rows('SELECT DISTINCT id % 2 AS m FROM jsons ORDER BY id % 2', [[0], [1]]);
    rows('SELECT DISTINCT id % 2 AS m FROM jsons ORDER BY m DESC', [[1], [0]]);
    rows('SELECT DISTINCT jsons.id FROM jsons ORDER BY id LIMIT 1', [[1]]);
    rows('SELECT DISTINCT id % 2, id > 5 FROM jsons ORDER BY 1, 2 LIMIT 1', [[0, false]]);
    rows('SELECT DISTINCT ON (id % 2) id FROM jsons ORDER BY id % 2, id', [[2], [1]]);
    fails('SELECT DISTINCT id % 2 FROM jsons ORDER BY id', 3000, /must appear in select list/);
    fails('SELECT DISTINCT ON (id % 2) id FROM jsons ORDER BY id', 3000, /must match initial ORDER BY/);
  });

  describe('the table of numbers', () => {
    rows('SELECT count(*), max(number) FROM numbers', [[100, 99]]);
    rows('SELECT number FROM public.numbers ORDER BY number DESC LIMIT 1', [[99]]);
    rows('SELECT count(*) FROM (SELECT number FROM numbers LIMIT 1000)', [[1000]]);
    rows('SELECT number FROM numbers LIMIT 1 OFFSET 500', [[500]]);
    rows('SELECT n.number + 1 FROM numbers n WHERE number = 5', [[6]]);
  });

  describe('anomaly scores', () => {
    rows(
      `SELECT round(anomaly_score_zscore(v) OVER w, 2), round(anomaly_score_mad(v) OVER w, 2),
         round(anomaly_score_iqr(v, 1.5) OVER w, 2)
       FROM points WINDOW w AS (ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) ORDER BY ts LIMIT 5`,
      [
        [0.51, 0.67, 0],
        [0.49, 0, 0],
        [0.51, 0.67, 0],
        [0.49, 0, 0],
        [2, 60.03, 87.5],
      ],
    );
    fails('SELECT anomaly_score_mad(v) FROM points', 3000, /needs an OVER clause/);
  });
});
