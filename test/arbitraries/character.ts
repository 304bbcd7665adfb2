import * as fc from 'fast-check'

/** Any code point but half a surrogate pair. fast-check's own unit `binary` needs seconds to set itself up. */
export const character: fc.Arbitrary<string> = fc
  .oneof(fc.nat(0x7f), fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point))
