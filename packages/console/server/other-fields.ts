/**
 * Returns names and values as texts, `servedFor` as `served for`. Page and command list so the fields that they do not format:
 * a new field needs no change of theirs.
 */
export function otherFields(fields: object): readonly (readonly [name: string, value: string])[] {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return present.map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
}
