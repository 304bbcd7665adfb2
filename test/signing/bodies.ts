/** The tricky bodies of research/webhooks.md, part 4, by their row: what comes from others, and what we send instead. */

export interface TrickyBody {
  readonly row: number
  /** As a careless or foreign sender writes it. */
  readonly wire: string
  /** What a receiver finds that writes the parsed body anew. */
  readonly parsed: 'agrees' | 'differs' | 'cannotParse' | 'cannotWrite'
  /** What stringify makes of it, which is what we send; undefined where there is nothing to send. */
  readonly ours: string | undefined
}

const body = (
  row: number,
  wire: string,
  parsed: TrickyBody['parsed'],
  ours: string | undefined,
): TrickyBody => ({
  row,
  wire,
  parsed,
  ours,
})
const kept = (row: number, wire: string): TrickyBody => body(row, wire, 'agrees', wire)
const changed = (row: number, wire: string, ours: string): TrickyBody => body(row, wire, 'differs', ours)

const DEPTH = 6_000
const deep = `{"a":${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}}`

export const trickyBodies: ReadonlyArray<TrickyBody> = [
  changed(1, '{"b":1,"2":"x","10":"y","1":"z","a":2}', '{"1":"z","2":"x","10":"y","b":1,"a":2}'),
  kept(2, '{"b":1,"01":2,"a":3}'),
  changed(3, '{"b":1,"4294967294":2,"4294967295":3}', '{"4294967294":2,"b":1,"4294967295":3}'),
  changed(4, '{"n":-0}', '{"n":0}'),
  changed(4, '{"n":-0.0}', '{"n":0}'),
  changed(5, '{"n":1.0}', '{"n":1}'),
  changed(5, '{"n":39.90}', '{"n":39.9}'),
  changed(6, '{"n":1E2}', '{"n":100}'),
  changed(7, '{"n":1e21}', '{"n":1e+21}'),
  kept(8, '{"n":100000000000000000000}'),
  changed(9, '{"n":0.0000001}', '{"n":1e-7}'),
  kept(9, '{"n":0.000001}'),
  changed(10, '{"id":9007199254740993}', '{"id":9007199254740992}'),
  changed(11, '{"id":18446744073709551615}', '{"id":18446744073709552000}'),
  changed(12, '{"n":1e400}', '{"n":null}'),
  changed(13, '{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'),
  kept(14, '{"__proto__":{"admin":true},"a":1}'),
  kept(15, '{"constructor":{"prototype":{"x":1}}}'),
  kept(16, '{"s":"\\ud83d"}'),
  changed(16, '{"s":"\\uD83D"}', '{"s":"\\ud83d"}'),
  changed(17, '{"s":"\\ud83d\\ude00"}', '{"s":"😀"}'),
  changed(18, '{"s":"caf\\u00e9"}', '{"s":"café"}'),
  kept(19, '{"s":"\u00e9"}'),
  kept(19, '{"s":"e\u0301"}'),
  changed(20, '{"u":"https:\\/\\/x"}', '{"u":"https://x"}'),
  changed(21, '{"s":"\\u003cb\\u003e\\u0026"}', '{"s":"<b>&"}'),
  changed(22, '{"s":"\\u2028"}', '{"s":"\u2028"}'),
  changed(23, '{"s":"\\u0009\\u001B"}', '{"s":"\\t\\u001b"}'),
  kept(24, '{"s":"\\u0000"}'),
  kept(24, '{"s":"\u007f"}'),
  body(25, '\ufeff{"a":1}', 'cannotParse', undefined),
  changed(26, '{"a":1}\n', '{"a":1}'),
  changed(26, '{ "a": 1 }', '{"a":1}'),
  changed(27, '{"\\u0061":1}', '{"a":1}'),
  kept(28, '{"":1}'),
  kept(28, '{}'),
  kept(28, '{"toJSON":"x"}'),
  kept(29, '{"a":[null],"n":null}'),
  body(30, deep, 'cannotWrite', undefined),
  body(31, 'undefined', 'cannotParse', undefined),
]

/** Row 31: what has no JSON at all. */
const cycle: Record<string, unknown> = {}
cycle['self'] = cycle
export const unwritable: ReadonlyArray<unknown> = [{ n: 1n }, cycle, () => undefined, Symbol('s'), undefined]
