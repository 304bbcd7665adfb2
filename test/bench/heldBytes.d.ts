/** One row for each shape and room. */
export const run: (limits: {
  readonly maxBytes: number
}) => Promise<ReadonlyArray<{ readonly what: string; readonly figure: number; readonly met: boolean }>>
