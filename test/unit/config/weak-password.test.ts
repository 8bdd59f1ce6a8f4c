import t from 'tap'
import { weaknessOf } from '../../../src/config/weak-passwords.ts'

t.test('defaults of the vendor, first guesses and the own name are weak; other passwords are not', async (t) => {
  const weak = [
    'foo:bar',
    'wazuh:wazuh',
    'wazuh-wui:wazuh-wui',
    'admin:admin',
    'edge:EDGE',
    'edge:changeme',
    'e:Password',
  ]
  for (const pair of weak) {
    const [username = '', password = ''] = pair.split(':')
    t.match(weaknessOf({ username, password }), /the password is .*; set a new password/, pair)
  }
  t.equal(weaknessOf({ username: 'edge', password: 'Vq7-long-and-random' }), undefined)
  t.equal(weaknessOf({}), undefined, 'mode passthrough has no account')
})
