// Traces, agents, databases, scripts, batches and the system in Chinese.

export default {};
