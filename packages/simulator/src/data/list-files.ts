/** CDB lists: lines of `key:value` in `etc/lists` and below. */

const SERVICES: Readonly<Record<string, readonly string[]>> = {
  Autoscaling: ['AttachLoadBalancers', 'DetachLoadBalancers', 'PutScalingPolicy'],
  Cloudformation: ['CancelUpdateStack', 'CreateStack', 'DeleteStack', 'UpdateStack'],
  Config: ['DeleteConfigRule', 'DeleteDeliveryChannel', 'PutConfigRule', 'PutDeliveryChannel'],
  EC2: [
    'AllocateAddress',
    'AttachVolume',
    'CreateSecurityGroup',
    'RunInstances',
    'StopInstances',
    'TerminateInstances',
  ],
  IAM: [
    'AddRoleToInstanceProfile',
    'AttachUserPolicy',
    'CreateAccessKey',
    'CreateUser',
    'DeleteUser',
    'UpdateLoginProfile',
  ],
  S3: ['CreateBucket', 'DeleteBucket', 'PutBucketAcl', 'PutBucketPolicy'],
  STS: ['AssumeRole', 'GetFederationToken', 'GetSessionToken'],
}

const EVENT_CHANNEL = [
  '1100',
  '1102',
  '4608',
  '4616',
  '4624',
  '4625',
  '4634',
  '4648',
  '4672',
  '4688',
  '4697',
  '4719',
  '4720',
  '4726',
  '4740',
  '4768',
]

/** File path → text. */
export function listFiles(): Map<string, string> {
  const names = Object.entries(SERVICES).flatMap(([service, calls]) => calls.map((call) => `${call}:${service}`))
  const sources = Object.keys(SERVICES).map((service) => `${service.toLowerCase()}.amazonaws.com:${service}`)
  return new Map([
    ['etc/lists/audit-keys', 'audit-w:write\naudit-r:read\naudit-a:attribute\naudit-x:execute\naudit-c:command\n'],
    ['etc/lists/security-eventchannel', `${EVENT_CHANNEL.map((id) => `${id}:`).join('\n')}\n`],
    ['etc/lists/amazon/aws-eventnames', `${names.join('\n')}\n`],
    ['etc/lists/amazon/aws-sources', `${sources.join('\n')}\n`],
  ])
}

/** Returns the pairs of a list, or undefined if a line is not `key:value`. */
export function readList(text: string): { key: string; value: string }[] | undefined {
  const pairs: { key: string; value: string }[] = []
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const [key = '', value, more] = line.split(':')
    if (key.trim() === '' || value === undefined || more !== undefined) return undefined
    pairs.push({ key: key.trim(), value: value.trim() })
  }
  return pairs
}
