import java.io.File;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;

import scala.Tuple2;

/**
 * Joins one task that sleeps long with many that sleep for a moment, again and again. The many wait for another one
 * that sleeps for a moment, as of stages that could begin at once Spark may serve either first. SleepingSpark NAME JOBS
 * MILLISECONDS TASKS MILLISECONDS [GATE]. Begins once there is a file GATE. Prints what each job has counted.
 */
public final class SleepingSpark {
  private static final int LOOK_MS = 100;

  private SleepingSpark() {
  }

  public static void main(String[] arguments) throws InterruptedException {
    int jobs = Integer.parseInt(arguments[1]);
    long longMs = Long.parseLong(arguments[2]);
    int tasks = Integer.parseInt(arguments[3]);
    long shortMs = Long.parseLong(arguments[4]);
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setAppName(arguments[0]))) {
      while (arguments.length > 5 && !new File(arguments[5]).exists()) {
        Thread.sleep(LOOK_MS);
      }
      for (int job = 0; job < jobs; job++) {
        JavaPairRDD<Integer, Integer> one = spark.parallelize(numbers(1), 1)
            .mapToPair(number -> slept(number, longMs));
        JavaPairRDD<Integer, Integer> many = spark.parallelize(numbers(1), 1)
            .mapToPair(number -> slept(number, shortMs))
            .flatMapToPair(pair -> numbers(tasks).stream().map(number -> new Tuple2<>(number, number)).iterator())
            .partitionBy(new HashPartitioner(tasks))
            .mapToPair(pair -> slept(pair._1, shortMs));
        System.out.println("joined " + one.join(many, 1).count());
      }
    }
  }

  private static java.util.List<Integer> numbers(int count) {
    return IntStream.range(0, count).boxed().collect(Collectors.toList());
  }

  private static Tuple2<Integer, Integer> slept(int number, long milliseconds) throws InterruptedException {
    Thread.sleep(milliseconds);
    return new Tuple2<>(0, number);
  }
}
