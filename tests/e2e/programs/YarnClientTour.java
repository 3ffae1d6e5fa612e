import java.util.Collections;
import java.util.EnumSet;
import java.util.Map;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptReport;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ApplicationTimeoutType;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerReport;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.api.protocolrecords.UpdateApplicationTimeoutsRequest;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.client.api.YarnClientApplication;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Uses what YarnClient offers, on an application of its own; tells what it saw, a line each. */
public final class YarnClientTour {
  private static void tell(String name, Object value) {
    System.out.println(name + " " + value);
  }

  private static ApplicationId submit(YarnClient client) throws Exception {
    YarnClientApplication application = client.createApplication();
    tell("largest", application.getNewApplicationResponse().getMaximumResourceCapability().getMemorySize());
    ApplicationSubmissionContext context = application.getApplicationSubmissionContext();
    context.setApplicationName("tour");
    context.setApplicationType("TOUR");
    context.setApplicationTags(Collections.singleton("toured"));
    context.setQueue("default");
    context.setMaxAppAttempts(1);
    context.setResource(Resource.newInstance(128, 1));
    context.setAMContainerSpec(ContainerLaunchContext.newInstance(
        Collections.emptyMap(), Collections.emptyMap(), Collections.singletonList("sleep 600"), null, null, null));
    return client.submitApplication(context);
  }

  private static ApplicationReport await(YarnClient client, ApplicationId id, boolean isMasterThere) throws Exception {
    ApplicationReport report = client.getApplicationReport(id);
    while (isMasterThere && report.getCurrentApplicationAttemptId().getAttemptId() < 1
        || isMasterThere && client.getContainers(report.getCurrentApplicationAttemptId()).isEmpty()
        || !isMasterThere && report.getYarnApplicationState() != YarnApplicationState.KILLED) {
      Thread.sleep(200);
      report = client.getApplicationReport(id);
    }
    return report;
  }

  private static void look(YarnClient client, ApplicationId id) throws Exception {
    ApplicationReport report = await(client, id, true);
    tell("user", report.getUser());
    ApplicationAttemptReport attempt = client.getApplicationAttempts(id).get(0);
    ContainerReport container = client.getContainers(attempt.getApplicationAttemptId()).get(0);
    tell("same master", attempt.getAMContainerId().equals(container.getContainerId()));
    tell("same container", client.getContainerReport(container.getContainerId()).getAssignedNode()
        .equals(container.getAssignedNode()));
    tell("same attempt", client.getApplicationAttemptReport(attempt.getApplicationAttemptId()).getApplicationAttemptId()
        .equals(report.getCurrentApplicationAttemptId()));
    tell("listed", client.getApplications(Collections.singleton("TOUR"), EnumSet.of(YarnApplicationState.ACCEPTED),
        Collections.singleton("toured")).stream().anyMatch(each -> each.getApplicationId().equals(id)));
  }

  private static void change(YarnClient client, ApplicationId id) throws Exception {
    client.moveApplicationAcrossQueues(id, "dev");
    tell("moved", client.getApplicationReport(id).getQueue());
    client.updateApplicationPriority(id, Priority.newInstance(0));
    tell("priority", client.getApplicationReport(id).getPriority().getPriority());
    client.updateApplicationTimeouts(UpdateApplicationTimeoutsRequest.newInstance(
        id, Map.of(ApplicationTimeoutType.LIFETIME, "2099-01-01T00:00:00.000+0000")));
    tell("lifetime", client.getApplicationReport(id).getApplicationTimeouts().get(ApplicationTimeoutType.LIFETIME)
        .getExpiryTime());
    client.killApplication(id, "the tour is over");
    tell("end", await(client, id, false).getDiagnostics());
  }

  public static void main(String[] arguments) throws Exception {
    try (YarnClient client = YarnClient.createYarnClient()) {
      client.init(new YarnConfiguration());
      client.start();
      tell("managers", client.getYarnClusterMetrics().getNumNodeManagers());
      tell("nodes", client.getNodeReports(NodeState.RUNNING).size());
      tell("queues", client.getAllQueues().size());
      tell("root", client.getRootQueueInfos().size());
      tell("queue", client.getQueueInfo("default").getQueueName());
      tell("acls", client.getQueueAclsInfo().size());
      tell("types", client.getResourceTypeInfo().size());
      tell("labels", client.getClusterNodeLabels().size());
      ApplicationId id = submit(client);
      tell("id", id);
      look(client, id);
      change(client, id);
    }
    System.exit(0);
  }
}
