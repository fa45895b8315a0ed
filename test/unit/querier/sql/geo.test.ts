import { expect } from 'chai';

import { SqlBench } from '#test/support/sql-bench';

describe('geographic functions of SQL', () => {
  let bench: SqlBench;
  before(async () => {
    bench = await SqlBench.open();
  });
  after(() => bench.close());

  const values = async (...expressions: string[]): Promise<unknown[]> => [
    ...(await bench.rows(`SELECT ${expressions.join(', ')}`))[0],
  ];
  const fails = async (expression: string, message: RegExp): Promise<void> => {
    const error = await bench.error(`SELECT ${expression}`);
    expect(error.number, error.message).to.equal(3001);
    expect(error.message).to.match(message);
  };

  it('convert between points and cells of H3', async () => {
    expect(
      await values(
        'h3_latlng_to_cell(37.76938, -122.3889, 8)::STRING',
        'h3_latlng_to_cell_string(37.76938, -122.3889, 8::Int16)',
        "h3_cell_to_string('88283082e7fffff')",
        "h3_string_to_cell('88283082e7fffff')::STRING",
        'h3_cell_to_string(613196570438926335)',
      ),
    ).to.deep.equal([
      '613196570438926335',
      '88283082e7fffff',
      '88283082e7fffff',
      '613196570438926335',
      '88283082e7fffff',
    ]);
    const [centre] = await values('h3_cell_center_latlng(613196570438926335)');
    expect((centre as number[])[0]).to.be.closeTo(37.772461, 1e-6);
    expect((centre as number[])[1]).to.be.closeTo(-122.390109, 1e-6);
  });

  it('describe cells of H3 and their neighbours', async () => {
    const cell = '613196570438926335';
    expect(
      await values(
        `h3_cell_resolution(${cell})`,
        `h3_cell_base(${cell})`,
        `h3_cell_is_pentagon(${cell})`,
        `h3_cell_parent(${cell}, 6)::STRING`,
        `len(h3_cell_to_children(${cell}, 10))`,
        `h3_cell_to_children_size(${cell}, 10)`,
        `h3_cell_to_child_pos(${cell}, 6)`,
        `h3_child_pos_to_cell(25, ${cell}, 11)::STRING`,
        `h3_grid_disk(${cell}, 0)[1]::STRING`,
        `len(h3_grid_disk_distances(${cell}, 3))`,
      ),
    ).to.deep.equal([8, 20, false, '604189371209351167', 49, 49, 45, '626707369319059455', cell, 37]);
    const [from, to] = ["h3_string_to_cell('86283082fffffff')", "'86283470fffffff'"];
    expect(
      await values(
        `h3_grid_distance(${from}, ${to})`,
        `len(h3_grid_path_cells(${from}, ${to}))`,
        `round(h3_distance_sphere_km(${from}, ${to}), 5)`,
        `round(h3_distance_degree(${from}, ${to}), 12)`,
      ),
    ).to.deep.equal([9, 10, 55.05017, 0.549392436971]);
  });

  it('find a cell of H3 in larger ones, however they are given', async () => {
    const names = "'86283470fffffff, 862834777ffffff'";
    expect(
      await values(
        `h3_cells_contains(${names}, '8b283470d112fff')`,
        `h3_cells_contains(${names}, 604189641792290815)`,
        `h3_cells_contains(['86283470fffffff', '862834777ffffff'], 626707639343067135)`,
        `h3_cells_contains([604189641255419903, 604189643000250367], '8b283470d112fff')`,
        `h3_cells_contains(${names}, NULL)`,
      ),
    ).to.deep.equal([true, false, true, true, null]);
  });

  it('refuse what is no cell, no point or too much', async () => {
    await fails('h3_latlng_to_cell(1, 2, 100)', /H3 error: Resolution argument was outside of acceptable range/);
    await fails('h3_latlng_to_cell(91, 2, 1)', /latitude 91 and longitude 2 are no point/);
    await fails('h3_latlng_to_cell(1, 2, -1)', /Conversion|Cast/i);
    await fails("h3_cell_base('zz')", /H3 error: invalid cell index 'zz'/);
    await fails("h3_cell_to_children('8029fffffffffff', 15)", /at most 100000 are allowed/);
    await fails("h3_grid_disk('88283082e7fffff', 1000000)", /at most 100000 are allowed/);
    await fails("h3_grid_distance('86283082fffffff', '8029fffffffffff')", /incompatible resolutions/);
  });

  it('convert between points and cells of S2', async () => {
    const cell = 's2_latlng_to_cell(37.76938, -122.3889)';
    expect(
      await values(
        `${cell}::STRING`,
        `s2_cell_to_token(${cell})`,
        `s2_cell_level(${cell})`,
        `s2_cell_parent(${cell}, 3)::STRING`,
      ),
    ).to.deep.equal(['9263763445276221387', '808f7fc59ef01fcb', 30, '9277415232383221760']);
    await fails(`s2_cell_parent(${cell}, 31)`, /level 31 is no parent of a cell of level 30/);
    await fails('s2_cell_level(0)', /invalid cell 0/);
  });

  it('relate shapes', async () => {
    const square = "'POLYGON ((0 0, 4 0, 4 4, 0 4, 0 0))'";
    expect(
      await values(
        `st_area(${square})`,
        "st_distance('POINT (0 0)', 'POINT (3 4)')",
        `st_distance('POINT (7 8)', ${square})`,
        `st_contains(${square}, 'POINT (1 1)')`,
        `st_within('POINT (5 5)', ${square})`,
        `st_intersects(${square}, 'LINESTRING (-1 2, 9 2)')`,
        "round(st_distance_sphere_m('POINT (-122.3889 37.76938)', 'POINT (-121.4247 38.5216)'), 3)",
        'st_area(NULL)',
      ),
    ).to.deep.equal([16, 5, 5, true, false, true, 118766.036, null]);
    await fails(`st_distance_sphere_m('POINT (0 0)', ${square})`, /non-point objects/);
    await fails("st_area('POLYGON ((0 0, 1 1))')", /Fail to parse WKT/);
    await fails(`st_area(concat('POINT (', repeat(repeat(' ', 300), 300), '1 1)'))`, /at most 65536 are allowed/);
  });

  it('collect the points of a path in the order of time', async () => {
    const points = '(VALUES (1, 10, 30), (2, 20, 10), (3, 30, 20)) AS p (lat, lon, ts)';
    const [row] = await bench.rows(
      `SELECT geo_path(lat, lon, ts::TIMESTAMP), json_encode_path(lat, lon, ts) FROM ${points}`,
    );
    expect(row).to.deep.equal([{ lat: [2, 3, 1], lng: [20, 30, 10] }, '[[20.0,2.0],[30.0,3.0],[10.0,1.0]]']);
  });
});
