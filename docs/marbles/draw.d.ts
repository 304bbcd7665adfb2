/** What happens in a row: a sign at a column. */
export type Mark = readonly [column: number, sign: string]

export interface Diagram {
  readonly name: string
  readonly title: string
  /** Milliseconds of a column. */
  readonly unit: number
  readonly description: string
  /** Each as it is written. */
  readonly rows: ReadonlyArray<readonly [label: string, text: string]>
  readonly legend: ReadonlyArray<readonly [sign: string, meaning: string]>
}

export const marksOf: (text: string) => ReadonlyArray<Mark>
export const diagrams: () => ReadonlyArray<Diagram>
export const draw: (diagram: Diagram) => string
