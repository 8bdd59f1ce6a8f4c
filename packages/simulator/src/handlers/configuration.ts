/** The configuration of a node: the main file by sections, and the active configuration of each daemon. */
import { components } from '../data/node/components.ts'
import { isUsed } from '../data/node/daemons.ts'
import { decodersOf, rulesOf } from '../data/ruleset.ts'
import { isSection, readSettings, type Settings } from '../data/settings.ts'
import { FrameworkError, type SimHandlers, type SimNode, type SimRequest } from '../model.ts'
import { refusal } from '../texts.ts'

function settingsOf({ files }: SimNode): Settings {
  const text = files.get('etc/ossec.conf')
  if (text === undefined) throw refusal(1101)
  try {
    return readSettings(text)
  } catch {
    throw refusal(1101)
  }
}

/** Returns the whole configuration, a section, or one option. */
function mainConfiguration({ node, query }: SimRequest): unknown {
  const settings = settingsOf(node)
  const { section, field } = query
  if (section === undefined) return settings
  if (!isSection(section)) throw new FrameworkError(1102, 'Invalid section')
  const found = settings[section]
  if (found === undefined) throw new FrameworkError(1106, 'Requested section not present in configuration')
  if (field === undefined) return found
  if (Array.isArray(found) || !Object.hasOwn(found, field)) throw new FrameworkError(1103, 'Invalid field in section')
  return (found as Readonly<Record<string, unknown>>)[field]
}

/** Returns OK, or KO with details. Files are validated here and not when they are uploaded. */
function validation({ node }: SimRequest): { status: string; details?: string[] } {
  const details: string[] = []
  for (const check of [() => settingsOf(node), () => rulesOf(node.files), () => decodersOf(node.files)]) {
    try {
      check()
    } catch (fault) {
      details.push(fault instanceof Error ? fault.message : String(fault))
    }
  }
  return details.length === 0 ? { status: 'OK' } : { status: 'KO', details }
}

/** Throws 1101 and 1116 for unknown names and 1117 if the daemon does not run. Agent `000` answers the same. */
export function managerConfig({ node, world, params }: SimRequest): unknown {
  const { component: name = '', configuration = '' } = params
  const component = Object.hasOwn(components, name) ? components[name] : undefined
  if (component === undefined) throw refusal(1101)
  const { daemon, configurations } = component
  if (!Object.hasOwn(configurations, configuration)) throw refusal(1116)
  if (!isUsed(daemon, node.type)) throw refusal(1117)
  return configurations[configuration]?.(node, world)
}

export const configurationHandlers: SimHandlers = {
  'GET /manager/configuration': mainConfiguration,
  'GET /manager/configuration/validation': validation,
  'GET /cluster/configuration/validation': validation,
  'GET /manager/config/:component/:configuration': managerConfig,
}
