export const mutated = (value: unknown, seed: number): void => {
  if (typeof value !== 'object' || value === null) return
  // Sound for every object: whatever stands there is replaced.
  const record = value as Record<string, unknown>
  for (const name of Object.keys(record)) {
    mutated(record[name], seed + 1)
    if (seed % 3 === 0) Reflect.deleteProperty(record, name)
    else if (!(Array.isArray(record) && name === 'length')) record[name] = { changed: seed }
  }
  if (Array.isArray(value)) value.push('changed')
  else record['added'] = seed
}
