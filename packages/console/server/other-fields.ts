/**
 * Names and values of the fields that a view does not show in its own way, so that a new field is shown without a change
 * of the view: `servedFor` as `served for`.
 */
export function otherFields(fields: object): readonly (readonly [name: string, value: string])[] {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return present.map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
}
