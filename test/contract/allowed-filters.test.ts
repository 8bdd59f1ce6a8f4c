import t from 'tap'
import { catalogue } from '../../src/contracts/index.ts'
import { idOf } from './facts.ts'

/** The names that error 604 of the real API lists for an unknown parameter, in its order. */
const recorded: Readonly<Record<string, string>> = {
  'GET /agents':
    'offset  limit  sort  search  q  status  os.platform  os.version  manager  version  node_name  older_than  group  name  ip  os.name  select',
  'GET /rules':
    'offset  limit  sort  search  q  status  group  level  path  file  pci  gdpr  hipaa  nist-800-53  gpg13  select',
  'GET /decoders': 'offset  limit  sort  search  q  status  path  file  select',
  'GET /decoders/files': 'offset  limit  sort  search  status  download  path  file',
  'GET /rules/files': 'offset  limit  sort  search  status  download  path  file',
  'GET /syscollector/:agent_id/packages':
    'offset  limit  sort  search  q  vendor  name  architecture  format  version  select',
  'GET /experimental/syscollector/os':
    'offset  limit  sort  search  q  os_name  architecture  os_version  version  release  select',
  'GET /sca/:agent_id/checks/:policy_id':
    'offset  limit  sort  search  q  title  description  rationale  remediation  file  process  directory  registry  references  result  select',
  'POST /agents': 'name  ip  force',
  'POST /agents/insert': 'name  ip  id  key  force',
  'POST /agents/restart': 'ids',
}

t.test('parameters and fields have the order in which the real API lists them in error 604', async (t) => {
  for (const [id, names] of Object.entries(recorded)) {
    const record = catalogue.find((endpoint) => idOf(endpoint) === id)
    const body = record !== undefined && 'body' in record ? record.body : undefined
    const described = body?.kind === 'fields' ? body.fields : record?.query
    const sent = Object.entries(described ?? {}).filter(([, param]) => !('edgeOnly' in param))
    t.equal(sent.map(([name]) => name).join('  '), names, id)
  }
})
