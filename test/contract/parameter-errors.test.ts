import t from 'tap'
import { simulated } from '../support/simulated.ts'

const key = (text: string) => JSON.stringify({ name: 'a', id: '9', key: text })

/** Texts of the real API that no recorded exchange contains. */
const rows: readonly (readonly [call: string, message: string, options?: { body?: string; app?: string }])[] = [
  ['GET /manager/stats?date=tomorrow', 'Param not valid. Date format: YYYYMMDD.  Field: date'],
  ['GET /rules?level=high', "Param not valid. Valid characters: number or interval separated by '-'.  Field: level"],
  ['GET /syscheck/001?md5=none', 'Param not valid. Valid values: md5/sha1/sha256 hash.  Field: md5'],
  ['POST /agents/insert', 'Param not valid. Valid characters: a-z A-Z 0-9.  Field: key', { body: key('!') }],
  ['DELETE /agents/groups?ids=a%20b', 'Invalid character in parameters.  Field: ids'],
  ['GET /agents', "Wrong format for 'wazuh-app-version' header. Expected format: 'X.Y.Z'", { app: '3.11' }],
  [
    'GET /agents',
    "Invalid 'wazuh-app-version' header. Expected version '3.11.x', and found '3.10.x'.",
    { app: '3.10.2' },
  ],
]

t.test('parameter errors have the texts of the real API', async (t) => {
  const { edge } = await simulated(t, { workers: 0, agents: 3, version: '3.11.5' })
  for (const [call, message, { body, app } = {}] of rows) {
    const [method = '', path = ''] = call.split(' ')
    const response = await fetch(`${edge.url}${path}`, {
      method,
      headers: {
        authorization: edge.authorization('admin'),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(app !== undefined && { 'wazuh-app-version': app }),
      },
      ...(body !== undefined && { body }),
    })
    t.equal(response.status, 400, call)
    t.equal(((await response.json()) as { message: string }).message, message, call)
  }
})
