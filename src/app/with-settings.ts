/**
 * Returns the parts together with a group of settings. A reload replaces members of the group in place, and the result
 * inherits them instead of copying them, as a spread would. Getters of the parts stay getters.
 */
export function withSettings<Settings extends object, Parts extends object>(
  settings: Settings,
  parts: Parts,
): Settings & Parts {
  return Object.create(settings, Object.getOwnPropertyDescriptors(parts)) as Settings & Parts
}
