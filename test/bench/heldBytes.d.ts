interface Row {
  readonly what: string
  readonly figure: number
  readonly unit: string
  readonly met: boolean
}

export const run: (limits: { readonly maxBytes: number }) => Promise<ReadonlyArray<Row>>
