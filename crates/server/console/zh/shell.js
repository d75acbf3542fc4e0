// The shell's texts in Chinese, by their English ones.

export default {
  Prompts: '提示词',
  Search: '搜索',
  'There is no such view.': '没有这个页面。',
  'This did not work': '出错了',
  Language: '语言',
  Theme: '主题',
  'Theme: system': '主题：跟随系统',
  'Theme: light': '主题：浅色',
  'Theme: dark': '主题：深色',
  Token: '令牌',
  'Token: change': '更换令牌',
  'The token was refused, or has been withdrawn.': '令牌被拒绝，或已被撤销。',
  'Token of this service': '本服务的令牌',
  'It is kept until this tab is closed.': '仅保存到此标签页关闭为止。',
  Cancel: '取消',
  Use: '使用',
  'To the content': '跳到内容',
  'Hint: {hint}': '提示：{hint}',
  'Stopped.': '已停止。',
  'The server does not answer: {why}': '服务器没有响应：{why}',
};
