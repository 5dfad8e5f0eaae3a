/** Why a text was left out of a request, in words. */
const reasons: Record<string, string> = {
  older: 'newer reads of the file follow',
  terminal: 'newer outputs of commands follow',
  repeat: 'its lines stand above, unchanged',
  restored: 'an agent’s own placeholder gave way to the text',
  partial: 'only the lines that are not in view were kept',
  output: 'the output of a command, shortened',
  numbers: 'line numbers that can be counted',
  replaced: 'a newer listing or plan follows',
  command: 'the output of an old command',
  arguments: 'a text that an old call was made with',
  idle: 'a file that was not touched for long',
  cleared: 'an old result, which the provider cleared',
}

export function reason(name: string): string {
  return reasons[name] ?? name
}
