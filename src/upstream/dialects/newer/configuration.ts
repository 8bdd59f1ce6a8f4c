/** Forms of settings that differ in the newer layout. Settings that only one of the layouts has stay as they are. */
import { ownField, ownText } from '../../../core/values.ts'

type Section = Readonly<Record<string, unknown>>

/** Returns sections of a configuration, each under its name, in the classic form. */
export function toClassicSections(sections: Section): Section {
  return Object.fromEntries(Object.entries(sections).map(([name, section]) => [name, convertSection(name, section)]))
}

function convertSection(name: string, section: unknown): unknown {
  if (name === 'remote' && Array.isArray(section)) return section.map(convertRemote)
  if (name === 'auth' && isSection(section)) return convertAuth(section)
  return section
}

/** A connection has a list of protocols in place of one. */
function convertRemote(connection: unknown): unknown {
  const protocols = ownField(connection, 'protocol')
  return Array.isArray(protocols) ? { ...(connection as Section), protocol: protocols.join(',') } : connection
}

/**
 * `force` says when a registration replaces an agent of the same name: `disconnected_time` after which the agent must be
 * disconnected. The configuration in use has it in seconds, the file with a unit.
 */
function convertAuth({ force, ...auth }: Section): Section {
  if (force === undefined) return auth
  const time = ownField(force, 'disconnected_time')
  const seconds = ownField(time, 'value')
  const isInUse = seconds !== undefined
  const isAlways = ownText(time, 'enabled') !== 'yes'
  const always = isInUse ? 'always' : '0'
  return {
    ...auth,
    force_insert: ownText(force, 'enabled') ?? 'no',
    force_time: isAlways ? always : (seconds ?? toSeconds(ownText(time, 'item') ?? '0')),
  }
}

const SECONDS_OF_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

function toSeconds(time: string): string {
  const [, count, unit = 's'] = /^([0-9]{1,12})([smhdw]?)$/.exec(time) ?? []
  return count === undefined ? time : String(Number(count) * (SECONDS_OF_UNIT[unit] ?? 1))
}

function isSection(value: unknown): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
