type Row = Readonly<{ what: string; figure: number; unit: string; met: boolean }>

export const run: (limits: { readonly maxBytes: number }) => Promise<ReadonlyArray<Row>>
