/** Translations for the releases of the v4 layout, which differ in a few calls. */

import type { CallTemplate, ParamRule, Translation } from '../../contracts/translations/translation.ts'
import { minorOf } from '../../core/node-call.ts'

interface Variant {
  readonly translation: Translation
  /** A version whose nodes know the calls of the translation; `undefined`: the newest one. */
  readonly version: string | undefined
}

/** Returns the translations for nodes of all releases, the one for this version first. */
export function variantsFor(translation: Translation, version: string | undefined): readonly Variant[] {
  const boundaries = boundariesOf(translation.call)
  const others = boundaries.flatMap((boundary) => [`4.${boundary}`, `4.${boundary - 1}`])
  const variants = new Map<Translation, Variant>()
  for (const known of [version, ...others]) {
    const variant = variantFor(translation, known === undefined ? Number.POSITIVE_INFINITY : minorOrLatest(known))
    if (!variants.has(variant)) variants.set(variant, { translation: variant, version: known })
  }
  return [...variants.values()]
}

/** As `minorOf`; Infinity for versions after 4, and for texts that are no version. */
export function minorOrLatest(version: string): number {
  return minorOf(version) ?? Number.POSITIVE_INFINITY
}

/** Whether releases differ in the call. */
export function dependsOnRelease({ call }: Translation): boolean {
  return boundariesOf(call).length > 0
}

function boundariesOf({ since, params = {} }: CallTemplate): readonly number[] {
  const releases = [since?.release, ...Object.values(params).map((rule) => rule.since)]
  return releases.flatMap((release) => (release === undefined ? [] : [minorOrLatest(release)]))
}

const created = new WeakMap<Translation, Map<string, Translation>>()

/** Returns the same object for all versions that need the same translation. */
function variantFor(translation: Translation, minor: number): Translation {
  const key = boundariesOf(translation.call)
    .map((boundary) => Number(minor >= boundary))
    .join('')
  const known = created.get(translation) ?? new Map<string, Translation>()
  created.set(translation, known)
  const variant = known.get(key) ?? { ...translation, call: callFor(translation.call, minor) }
  known.set(key, variant)
  return variant
}

function callFor({ since, ...call }: CallTemplate, minor: number): CallTemplate {
  const { params, ...others } = since !== undefined && minor >= minorOrLatest(since.release) ? since.call : call
  if (params === undefined) return others
  const rules = Object.entries(params).map(([name, rule]) => [name, ruleFor(rule, minor)] as const)
  return { ...others, params: Object.fromEntries(rules) }
}

function ruleFor({ since, ...rule }: ParamRule, minor: number): ParamRule {
  return since === undefined || minor >= minorOrLatest(since) ? rule : { ...rule, byEdge: true }
}
