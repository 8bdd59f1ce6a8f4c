/**
 * Which translation fits the release of a node. Releases of the newer layout differ in a few calls, which their records
 * name; all other translations fit every release.
 */
import type { CallTemplate, ParamRule, Release, Translation } from '../../../catalogue/newer/translation.ts'
import { ownText } from '../../../core/values.ts'
import type { Conversation } from './conversation.ts'

export function dependsOnRelease({ call }: Translation): boolean {
  return boundariesOf(call).length > 0
}

export interface Variant {
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
    const variant = variantFor(translation, known === undefined ? Number.POSITIVE_INFINITY : minorOf(known))
    if (!variants.has(variant)) variants.set(variant, { translation: variant, version: known })
  }
  return [...variants.values()]
}

/** Asks the node for its version; every account may. Throws as `send` does. */
export async function readVersion(conversation: Conversation): Promise<string | undefined> {
  const { content } = await conversation.send({ method: 'GET', path: '/', query: {} })
  return content.kind === 'success' ? ownText(content.data, 'api_version') : undefined
}

/** Returns the minor version; Infinity for versions after 4, and for texts that are no version. */
function minorOf(version: string): number {
  const [, minor] = /^v?4\.(\d+)/.exec(version) ?? []
  return minor === undefined ? Number.POSITIVE_INFINITY : Number(minor)
}

function boundariesOf({ since, params = {} }: CallTemplate): readonly number[] {
  const releases = [since?.release, ...Object.values(params).map((rule) => rule.since)]
  return releases.flatMap((release: Release | undefined) => (release === undefined ? [] : [minorOf(release)]))
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
  const { params, ...others } = since !== undefined && minor >= minorOf(since.release) ? since.call : call
  if (params === undefined) return others
  const rules = Object.entries(params).map(([name, rule]) => [name, ruleFor(rule, minor)] as const)
  return { ...others, params: Object.fromEntries(rules) }
}

function ruleFor({ since, ...rule }: ParamRule, minor: number): ParamRule {
  return since === undefined || minor >= minorOf(since) ? rule : { ...rule, byEdge: true }
}
