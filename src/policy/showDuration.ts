const UNITS = [
  { name: 'h', size: 3_600_000 },
  { name: 'm', size: 60_000 },
  { name: 's', size: 1_000 },
] as const

/** Whole milliseconds in the largest unit that leaves no rest: `4h`, `90s`, `1500ms`. */
export const showDuration = (ms: number): string => {
  const unit = UNITS.find(({ size }) => ms >= size && ms % size === 0)
  return unit === undefined ? `${String(ms)}ms` : `${String(ms / unit.size)}${unit.name}`
}
