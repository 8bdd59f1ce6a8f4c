/** Rules and decoders, read from the node's files at each request. */
import { sources } from '../../../../src/collections/sources.ts'
import { pageOf } from '../data/page.ts'
import { decoderFilesOf, decodersOf, type RulesetFile, ruleFilesOf, rulesOf, type Standard } from '../data/ruleset.ts'
import { FrameworkError, RawFile, type SimHandler, type SimHandlers, type SimRequest } from '../model.ts'

type FilesOf = (files: ReadonlyMap<string, string>) => RulesetFile[]

/** Returns files as a collection, or the file itself with `download`, which ignores the other parameters. */
function files(filesOf: FilesOf, source: 'ruleFiles' | 'decoderFiles'): SimHandler {
  return (request) => {
    const { download } = request.query
    const known = filesOf(request.node.files)
    if (download === undefined) return pageOf(known, request, sources[source])
    const found = known.find(({ file }) => file === download)
    if (found === undefined) throw new FrameworkError(700, `File not found: ${download}`, 404)
    return new RawFile(request.node.files.get(`${found.path}/${found.file}`) ?? '')
  }
}

/** Returns the distinct values of a list field over all rules. */
function catalogueOf(field: 'groups' | Standard): SimHandler {
  return (request) => {
    const values = new Set(rulesOf(request.node.files).flatMap((rule) => rule[field]))
    return pageOf([...values].sort(), request, sources.catalogue)
  }
}

function rulesById(request: SimRequest) {
  const id = Number(request.params.rule_id)
  return pageOf(
    rulesOf(request.node.files).filter((rule) => rule.id === id),
    request,
    sources.rules,
  )
}

function parents(request: SimRequest) {
  const found = decodersOf(request.node.files).filter(({ details }) => details.parent === undefined)
  return pageOf(found, request, sources.decoders)
}

function decodersByName(request: SimRequest) {
  const name = request.params.decoder_name
  return pageOf(
    decodersOf(request.node.files).filter((decoder) => decoder.name === name),
    request,
    sources.decoders,
  )
}

export const rulesetHandlers: SimHandlers = {
  'GET /rules': (request) => pageOf(rulesOf(request.node.files), request, sources.rules),
  'GET /rules/:rule_id': rulesById,
  'GET /rules/files': files(ruleFilesOf, 'ruleFiles'),
  'GET /rules/groups': catalogueOf('groups'),
  'GET /rules/pci': catalogueOf('pci'),
  'GET /rules/gdpr': catalogueOf('gdpr'),
  'GET /rules/hipaa': catalogueOf('hipaa'),
  'GET /rules/nist-800-53': catalogueOf('nist-800-53'),
  'GET /rules/gpg13': catalogueOf('gpg13'),
  'GET /decoders': (request) => pageOf(decodersOf(request.node.files), request, sources.decoders),
  'GET /decoders/files': files(decoderFilesOf, 'decoderFiles'),
  'GET /decoders/parents': parents,
  'GET /decoders/:decoder_name': decodersByName,
}
